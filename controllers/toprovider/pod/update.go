package pod

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/field"
)

// Changes are patches for the remote pod. Each is the pod as it should be. The caller sends its
// difference from the remote pod that it passed to Update. A patch is nil if nothing differs.
//
// Send Ephemeral and Resize first, and Main last. Main has the annotation that records what was sent,
// including the other two. After a crash in between, the remote pod shows what was already sent. Then
// nothing, or the same again, is sent. A provider that refuses Ephemeral or Resize for good, for
// example a resize on that node, refuses it only once: Main may be sent anyway.
type Changes struct {
	// Main is for the pod itself: labels, annotations, images, activeDeadlineSeconds, tolerations.
	Main *corev1.Pod
	// Ephemeral is for pods/ephemeralcontainers.
	Ephemeral *corev1.Pod
	// Resize is for pods/resize.
	Resize *corev1.Pod
}

// Update compares what local asks for with what was sent to remote, by the hashes in remote's
// annotation. It does not compare the specs. So changes by the provider's admission stay until the user
// changes the same part. It skips changes that Kubernetes would refuse, such as a longer deadline. It
// sends a toleration once the provider's limits allow it.
func Update(local, remote *corev1.Pod, t field.Target, limits *field.Limits) Changes {
	ephemeral := accept.AllowedEphemeralContainers(local, limits)
	there := remote.Spec.Tolerations
	if there == nil {
		there = []corev1.Toleration{} // The pod is there.
	}
	tolerations := allowedTolerations(&local.Spec, there, limits)
	var buffer [512]byte
	desired := appendSpecHash(buffer[:0], local, ephemeral, tolerations)
	recorded := remote.Annotations[v1alpha1.AnnotationSpecHash]

	metadata := field.Metadata(local, t)
	limits.Withhold(&metadata, remote)
	fillFiles(metadata.Annotations, &remote.Spec, local)
	var changed sets.Set[string]
	if recorded == string(desired) {
		metadata.Annotations[v1alpha1.AnnotationSpecHash] = recorded
	} else {
		metadata.Annotations[v1alpha1.AnnotationSpecHash] = string(desired)
		changed = changedParts(recorded, string(desired))
	}
	labels, annotations := field.MergeMetadata(&metadata, remote)
	if len(changed) == 0 && maps.Equal(labels, remote.Labels) && maps.Equal(annotations, remote.Annotations) {
		return Changes{}
	}

	var changes Changes
	changes.Main = remote.DeepCopy()
	changes.Main.Labels, changes.Main.Annotations = labels, annotations
	updateSpec(&changes.Main.Spec, &local.Spec, changed, tolerations)
	if changed.Has(partEphemeral) {
		changes.Ephemeral = withEphemeralContainers(remote, local, ephemeral, t, limits)
	}
	changes.Resize = resized(remote, &local.Spec, changed)
	return changes
}

// updateSpec sets the fields of the pod itself that Kubernetes allows to be changed.
func updateSpec(remote, local *corev1.PodSpec, changed sets.Set[string], tolerations []corev1.Toleration) {
	updateImages(remote.InitContainers, local.InitContainers, changed)
	updateImages(remote.Containers, local.Containers, changed)
	if deadline := local.ActiveDeadlineSeconds; changed.Has(partDeadline) && deadline != nil &&
		(remote.ActiveDeadlineSeconds == nil || *deadline < *remote.ActiveDeadlineSeconds) {
		remote.ActiveDeadlineSeconds = ptr.To(*deadline)
	}
	if changed.Has(partTolerations) {
		remote.Tolerations = mergedTolerations(remote.Tolerations, tolerations)
	}
}

func updateImages(remote, local []corev1.Container, changed sets.Set[string]) {
	for i := range local {
		c := byName(remote, local[i].Name)
		if c != nil && changed.Has(partImageOf+c.Name) && local[i].Image != "" {
			c.Image = local[i].Image
		}
	}
}

// mergedTolerations adds missing tolerations and sets the seconds of existing ones. Kubernetes allows
// no other change, and no removal.
func mergedTolerations(remote, local []corev1.Toleration) []corev1.Toleration {
	for _, wanted := range local {
		i := slices.IndexFunc(remote, func(t corev1.Toleration) bool {
			t.TolerationSeconds = wanted.TolerationSeconds
			return equality.Semantic.DeepEqual(t, wanted)
		})
		wanted := *wanted.DeepCopy()
		if i < 0 {
			remote = append(remote, wanted)
		} else {
			remote[i].TolerationSeconds = wanted.TolerationSeconds
		}
	}
	return remote
}

// withEphemeralContainers returns remote with the ephemeral containers that it lacks, or nil if it
// lacks none. Kubernetes allows nobody to change or remove them.
func withEphemeralContainers(remote, local *corev1.Pod, ephemeral []corev1.EphemeralContainer, t field.Target, limits *field.Limits) *corev1.Pod {
	var missing []corev1.EphemeralContainer
	for i := range ephemeral {
		has := func(c corev1.EphemeralContainer) bool { return c.Name == ephemeral[i].Name }
		if !slices.ContainsFunc(remote.Spec.EphemeralContainers, has) {
			missing = append(missing, ephemeralContainer(&ephemeral[i], local, remote, t, limits))
		}
	}
	if missing == nil {
		return nil
	}
	pod := remote.DeepCopy()
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, missing...)
	return pod
}

func byName(containers []corev1.Container, name string) *corev1.Container {
	return field.First(containers, func(c *corev1.Container) bool { return c.Name == name })
}
