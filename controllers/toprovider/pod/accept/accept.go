// Package accept decides whether a provider may get a pod, and which fields of a pod are sent.
//
// NeverSent refuses what no provider gets. LimitRefusal refuses what the limits of one provider do not allow.
// Refusal assumes limits that grant only pod security baseline, for decisions that come before a provider is
// chosen. fields_*.go has a decision for each field.
package accept

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

const (
	// cureOfPod tells the owner what to do about a pod with a refused spec.
	cureOfPod = "; recreate the pod without it, or, to run it on the consumer's own nodes, first set podOffloadingStrategy of the NamespaceOffloading to LocalAndRemote"
	// CureOfPodSecurity is for a pod that a provider with other limits would accept.
	CureOfPodSecurity = "; a provider can also allow it (podSecurity: privileged in ConfigMap spillway-provider/limits)"
	// cureOfQuantity is for a quantity so large that it can only mean "unlimited".
	cureOfQuantity = "; set a smaller one, or none"
	// CureOfDebugContainer is for the default profile of kubectl debug, which adds SYS_PTRACE.
	CureOfDebugContainer = "; use kubectl debug --profile=baseline, which needs none of this"
)

// Refusal says why a pod cannot be sent to a provider that grants only pod security baseline.
// Otherwise it returns nil. It checks only fields that cannot change while the pod lives, so it never
// refuses a pod later that was sent. EphemeralContainerRefusals checks ephemeral containers.
//
// The policy config/policy/pods.yaml has the same rule. It keeps such a pod off virtual nodes while the
// pod can still run on another node.
func Refusal(pod *corev1.Pod) *field.Problem { return podRefusal(pod, field.PodSecurityBaseline) }

// NeverSent says why no provider gets a pod, whatever its limits are, or returns nil. LimitRefusal
// checks the other pods against the limits.
func NeverSent(pod *corev1.Pod) *field.Problem { return podRefusal(pod, field.PodSecurityPrivileged) }

func podRefusal(pod *corev1.Pod, under field.Standard) *field.Problem {
	if isStatic(pod) {
		return field.Refuse(field.ReasonStaticPod, "it is a static pod, which the kubelet of its node runs by itself")
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "DaemonSet" &&
		pod.Annotations[v1alpha1.AnnotationOffloadDaemonSet] != v1alpha1.OffloadTrue {
		return field.Refuse(field.ReasonDaemonSetPod, "DaemonSet pods run on the consumer's own nodes; annotate the pod with %s=%s to run it in the provider",
			v1alpha1.AnnotationOffloadDaemonSet, v1alpha1.OffloadTrue)
	}
	return podSpecRefusal(pod, under).With(cureOfPod)
}

func podSpecRefusal(pod *corev1.Pod, under field.Standard) *field.Problem {
	if found := PodSpecPlan.Violation(&pod.Spec, under); found != nil {
		return found.Refusal("spec")
	}
	if refusal := podBaselineRefusal(&pod.Spec, under); refusal != nil {
		return refusal
	}
	for i := range pod.Spec.Volumes {
		if refusal := volumeRefusal(&pod.Spec.Volumes[i], under); refusal != nil {
			return refusal
		}
	}
	return firstRefusal(&pod.Spec, func(list string, c *corev1.Container) *field.Problem {
		return containerRefusal(list, c, &pod.Spec, under)
	})
}

// firstRefusal returns the first refusal of a container, or nil. list is the field that has the
// container.
func firstRefusal(spec *corev1.PodSpec, of func(list string, c *corev1.Container) *field.Problem) *field.Problem {
	for i := range spec.InitContainers {
		if refusal := of("initContainers", &spec.InitContainers[i]); refusal != nil {
			return refusal
		}
	}
	for i := range spec.Containers {
		if refusal := of("containers", &spec.Containers[i]); refusal != nil {
			return refusal
		}
	}
	return nil
}

// EphemeralContainerRefusals says why some ephemeral containers are not sent to a provider with these
// limits. The pod keeps running without them.
func EphemeralContainerRefusals(pod *corev1.Pod, limits *field.Limits) []*field.Problem {
	var refusals []*field.Problem
	for i := range pod.Spec.EphemeralContainers {
		if refusal := ephemeralContainerRefusal(&pod.Spec.EphemeralContainers[i], &pod.Spec, limits.Standard()); refusal != nil {
			refusals = append(refusals, refusal.With(CureOfDebugContainer))
		}
	}
	return refusals
}

func ephemeralContainerRefusal(c *corev1.EphemeralContainer, spec *corev1.PodSpec, under field.Standard) *field.Problem {
	return containerRefusal("ephemeralContainers", (*corev1.Container)(&c.EphemeralContainerCommon), spec, under)
}

// isStatic reports whether the pod is the mirror of a static pod.
func isStatic(pod *corev1.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	source, written := pod.Annotations["kubernetes.io/config.source"]
	return written && source != "api"
}

func volumeRefusal(v *corev1.Volume, under field.Standard) *field.Problem {
	if IsInjectedToken(v) {
		return nil
	}
	if found := VolumeSourcePlan.Violation(&v.VolumeSource, under); found != nil {
		return found.Refusal("spec.volumes[" + v.Name + "]")
	}
	if v.CSI != nil {
		if key := field.SecretAttribute(v.CSI.VolumeAttributes); key != "" {
			return field.Refuse(field.ReasonCredentials, "spec.volumes[%s].csi.volumeAttributes[%s] is set: the driver would use a Secret of the provider", v.Name, key)
		}
	}
	if v.Projected == nil {
		return nil
	}
	for i := range v.Projected.Sources {
		if found := volumeProjectionPlan.Violation(&v.Projected.Sources[i], under); found != nil {
			return found.Refusal(fmt.Sprintf("spec.volumes[%s].projected.sources[%d]", v.Name, i))
		}
	}
	return nil
}

func containerRefusal(list string, c *corev1.Container, spec *corev1.PodSpec, under field.Standard) *field.Problem {
	if c.SecurityContext != nil {
		if found := SecurityContextPlan.Violation(c.SecurityContext, under); found != nil {
			return found.Refusal("spec." + list + "[" + c.Name + "].securityContext")
		}
	}
	if under == field.PodSecurityPrivileged {
		return nil
	}
	if found := beyondBaseline(c, hasUserNamespace(spec)); found != "" {
		return baselineRefusal(strings.Join([]string{"spec.", list, "[", c.Name, "].", found}, ""))
	}
	return nil
}

func baselineRefusal(path string) *field.Problem {
	return field.Refuse(field.ReasonPodSecurity, "%s exceeds what pod security baseline allows", path)
}

// AllowedEphemeralContainers returns the ephemeral containers that are not refused.
func AllowedEphemeralContainers(pod *corev1.Pod, limits *field.Limits) []corev1.EphemeralContainer {
	refused := func(c corev1.EphemeralContainer) bool {
		return ephemeralContainerRefusal(&c, &pod.Spec, limits.Standard()) != nil
	}
	if !slices.ContainsFunc(pod.Spec.EphemeralContainers, refused) {
		return pod.Spec.EphemeralContainers
	}
	return slices.DeleteFunc(slices.Clone(pod.Spec.EphemeralContainers), refused)
}
