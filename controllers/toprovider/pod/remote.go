package pod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
)

// ToRemote returns the remote pod to create for local in a provider with these limits and classes. It does not
// check the pod: the caller has asked accept.Refusal. The pod gets no API tokens, and of what it asks of its node
// only what is required; see place.
func ToRemote(local *corev1.Pod, t field.Target, limits *field.Limits, classes field.Classes) *corev1.Pod {
	return WithAPI(local, t, limits, classes, nil)
}

// WithAPI is ToRemote for a pod that reaches the consumer's API at api. If api is nil, the pod gets no API
// tokens.
func WithAPI(local *corev1.Pod, t field.Target, limits *field.Limits, classes field.Classes, api *v1alpha1.ConsumerAPI) *corev1.Pod {
	remote := &corev1.Pod{ObjectMeta: field.Metadata(local, t)}
	limits.Withhold(remote, nil)

	spec := allowedPodSpec(&local.Spec, local.Name, limits, api != nil)
	remote.Annotations[v1alpha1.AnnotationSpecHash] = specHash(local, nil, spec.Tolerations)
	if !slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool { return !everyPodHas(&t) }) {
		spec.Tolerations = nil
	}
	spec.DeepCopyInto(&remote.Spec)
	localise(&remote.Spec, local, t, limits)
	if api != nil {
		token.Mount(&remote.Spec, local.UID, api)
	}
	fillFiles(remote.Annotations, &remote.Spec, local)
	remote.Spec.TopologySpreadConstraints = nil // See place.
	selectNodes(&remote.Spec, &local.Spec, t, nil)
	nameClasses(&remote.Spec, &local.Spec, classes)
	remote.Spec.ServiceAccountName, remote.Spec.AutomountServiceAccountToken = "", ptr.To(false) // See runAs.
	if t.Hashed && remote.Spec.Hostname == "" {
		remote.Spec.Hostname = hostname(local.Name)
	}
	return remote
}

// allowedPodSpec returns the part of a spec that may be sent. It shares memory with spec. The volumes with
// injected tokens stay if the pod gets API tokens.
func allowedPodSpec(spec *corev1.PodSpec, pod string, limits *field.Limits, hasTokens bool) corev1.PodSpec {
	var tokens []string
	if !hasTokens {
		tokens = token.Injected(spec.Volumes)
	}
	allowed := accept.PodSpecPlan.Allowed(spec)
	allowed.Volumes = allowedVolumes(spec.Volumes, pod, tokens)
	allowed.InitContainers = allowedContainers(spec.InitContainers, tokens)
	allowed.Containers = allowedContainers(spec.Containers, tokens)
	allowed.Tolerations = allowedTolerations(spec, nil, limits)
	if spec.SecurityContext != nil {
		allowed.SecurityContext = ptr.To(accept.PodSecurityContextPlan.Allowed(spec.SecurityContext))
	}
	return allowed
}

// allowedVolumes leaves out the volumes with these tokens.
func allowedVolumes(volumes []corev1.Volume, pod string, tokens []string) []corev1.Volume {
	var all []corev1.Volume
	for i := range volumes {
		v := &volumes[i]
		if slices.Contains(tokens, v.Name) {
			continue
		}
		allowed := accept.VolumePlan.Allowed(v)
		allowed.VolumeSource = accept.VolumeSourcePlan.Allowed(&v.VolumeSource)
		if v.Ephemeral != nil {
			allowed.VolumeSource = corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: needs.EphemeralClaim(pod, v.Name)},
			}
		}
		all = append(all, allowed)
	}
	return all
}

func allowedContainers(containers []corev1.Container, tokens []string) []corev1.Container {
	if containers == nil {
		return nil
	}
	all := make([]corev1.Container, len(containers))
	for i := range containers {
		all[i] = allowedContainer(&containers[i], tokens)
	}
	return all
}

func allowedContainer(c *corev1.Container, tokens []string) corev1.Container {
	allowed := accept.ContainerPlan.Allowed(c)
	allowed.VolumeMounts = token.WithoutMounts(c.VolumeMounts, tokens)
	if c.SecurityContext != nil {
		allowed.SecurityContext = ptr.To(accept.SecurityContextPlan.Allowed(c.SecurityContext))
	}
	return allowed
}

func toleratesVirtualNode(t corev1.Toleration) bool { return t.Key == v1alpha1.TaintVirtualNode }

// ephemeralContainer returns the remote form of an ephemeral container of the pod. It has the pod's API tokens if
// the remote pod has them.
func ephemeralContainer(c *corev1.EphemeralContainer, local, remote *corev1.Pod, t field.Target, limits *field.Limits) corev1.EphemeralContainer {
	allowed, hasTokens := accept.EphemeralContainerPlan.Allowed(c), token.Uses(&remote.Spec, local.UID)
	var tokens []string
	if !hasTokens {
		tokens = token.Injected(local.Spec.Volumes)
	}
	common := allowedContainer((*corev1.Container)(&c.EphemeralContainerCommon), tokens)
	allowed.EphemeralContainerCommon = corev1.EphemeralContainerCommon(common)
	spec := corev1.PodSpec{EphemeralContainers: []corev1.EphemeralContainer{*allowed.DeepCopy()}}
	localise(&spec, local, t, limits)
	if hasTokens {
		token.MountLater(&spec.EphemeralContainers[0], &remote.Spec)
	}
	return spec.EphemeralContainers[0]
}

// hostname returns the hostname that a kubelet derives from the name of a pod. It returns "" if
// spec.hostname cannot express it, because that allows no dots.
func hostname(pod string) string {
	name := pod[:min(len(pod), validation.DNS1123LabelMaxLength)]
	name = strings.TrimRight(name, "-.")
	if len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return name
}
