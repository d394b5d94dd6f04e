package accept

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
)

// check is one reason not to send a pod.
type check struct {
	name string
	// scope is what the check depends on.
	scope scope
	// refuse returns the problem with the pod, or nil. It is pure.
	refuse func(*corev1.Pod, Provider) *field.Problem
}

// scope is what a check depends on. A check of one scope may use less, but not more.
type scope int

const (
	// podAlone: the answer is the same for every provider.
	podAlone scope = iota
	// standard: the answer depends on the pod security standard that the provider grants, or on whether the
	// offloading lists the pod's ServiceAccount.
	standard
	// provider: the answer depends on the limits of the provider, and on the classes of its ClusterBinding.
	provider
)

// checks are all reasons not to send a pod. A pod reports the first that applies. So the checks begin with
// problems that no provider can solve, and end with those that may pass.
var checks = []check{
	{"static pod", podAlone, staticPod},
	{"DaemonSet pod", podAlone, daemonSetPod},
	{"fields", podAlone, forbiddenField},
	{"volumes", podAlone, forbiddenVolume},
	{"tokens", standard, projectedToken},
	{"names of tokens", provider, foreignToken},
	{"limits", provider, unknownLimits},
	{"privileged fields", standard, privilegedField},
	{"security context", standard, securityContext},
	{"privileged volumes", standard, privilegedVolume},
	{"containers", standard, privilegedContainer},
	{"inline volumes", provider, inlineVolume},
	{"quantities", provider, quantities},
	{"RuntimeClass", provider, runtimeClassNotMapped},
	{"ServiceAccount", provider, accountNotAllowed},
	{"classes", provider, missingClass},
	{"consumer's API", provider, unusableAPI},
}

// first returns the problem of the first check that applies, or nil. It skips the checks that depend on more
// than known.
func first(pod *corev1.Pod, in Provider, known scope) *field.Problem {
	for i := range checks {
		if checks[i].scope > known {
			continue
		}
		if refusal := checks[i].refuse(pod, in); refusal != nil {
			return refusal
		}
	}
	return nil
}

// staticPod refuses the mirror of a static pod (StaticPod). A kubelet runs the static pod from a file, so a
// remote pod would be a second one.
func staticPod(pod *corev1.Pod, _ Provider) *field.Problem {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	source, written := pod.Annotations["kubernetes.io/config.source"]
	if !mirror && (!written || source == "api") {
		return nil
	}
	return field.Refuse(field.ReasonStaticPod, "it is a static pod, which the kubelet of its node runs by itself")
}

// daemonSetPod refuses a pod of a DaemonSet, unless its owner asks for it (DaemonSetPod). Most DaemonSets serve
// the node that they are on, and a virtual node needs no such service.
func daemonSetPod(pod *corev1.Pod, _ Provider) *field.Problem {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "DaemonSet" || pod.Annotations[v1alpha1.AnnotationOffloadDaemonSet] == v1alpha1.OffloadTrue {
		return nil
	}
	return field.Refuse(field.ReasonDaemonSetPod, "DaemonSet pods run on the consumer's own nodes; annotate the pod with %s=%s to run it in the provider",
		v1alpha1.AnnotationOffloadDaemonSet, v1alpha1.OffloadTrue)
}

// forbiddenField refuses a pod with a field that works only in the consumer (ResourceClaims).
func forbiddenField(pod *corev1.Pod, _ Provider) *field.Problem {
	return PodSpecPlan.Violation(&pod.Spec, field.PodSecurityPrivileged).Refusal("spec").With(cureOfPod)
}

// privilegedField refuses a pod that shares namespaces with its node (PodSecurity). A provider grants that only
// with pod security privileged.
func privilegedField(pod *corev1.Pod, in Provider) *field.Problem {
	return PodSpecPlan.Violation(&pod.Spec, in.Limits.Standard()).Refusal("spec").With(in.cure())
}

// forbiddenVolume refuses a volume that is tied to the consumer's nodes or cloud (VolumeNotPortable), or that
// has, or asks for, a credential of the consumer (Credentials).
func forbiddenVolume(pod *corev1.Pod, _ Provider) *field.Problem {
	return firstOfVolumes(&pod.Spec, volumeRefusal).With(cureOfPod)
}

func volumeRefusal(v *corev1.Volume) *field.Problem {
	if token.IsInjected(v) {
		return nil
	}
	if refusal := sourceRefusal(v, field.PodSecurityPrivileged); refusal != nil {
		return refusal
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
		others := v.Projected.Sources[i]
		others.ServiceAccountToken = nil // See projectedToken.
		if found := volumeProjectionPlan.Violation(&others, field.PodSecurityPrivileged); found != nil {
			return found.Refusal(fmt.Sprintf("spec.volumes[%s].projected.sources[%d]", v.Name, i))
		}
	}
	return nil
}

// privilegedVolume refuses a volume with files of the node (PodSecurity). A provider grants that only with pod
// security privileged.
func privilegedVolume(pod *corev1.Pod, in Provider) *field.Problem {
	return firstOfVolumes(&pod.Spec, func(v *corev1.Volume) *field.Problem {
		return sourceRefusal(v, in.Limits.Standard())
	}).With(in.cure())
}

func sourceRefusal(v *corev1.Volume, under field.Standard) *field.Problem {
	if found := VolumeSourcePlan.Violation(&v.VolumeSource, under); found != nil {
		return found.Refusal("spec.volumes[" + v.Name + "]")
	}
	return nil
}

// firstOfVolumes returns the first problem with a volume, or nil.
func firstOfVolumes(spec *corev1.PodSpec, of func(*corev1.Volume) *field.Problem) *field.Problem {
	for i := range spec.Volumes {
		if refusal := of(&spec.Volumes[i]); refusal != nil {
			return refusal
		}
	}
	return nil
}

// firstOfContainers returns the first problem with a container, or nil. list is the field that has the
// container.
func firstOfContainers(spec *corev1.PodSpec, of func(list string, c *corev1.Container) *field.Problem) *field.Problem {
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
