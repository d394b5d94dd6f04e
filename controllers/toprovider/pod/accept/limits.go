package accept

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// unknownLimits refuses every pod while the limits of the provider are unknown (LimitsMissing, LimitsInvalid,
// LimitsForbidden). The provider's policies refuse everything then.
func unknownLimits(_ *corev1.Pod, in Provider) *field.Problem { return in.Limits.Unknown }

// inlineVolume refuses a pod that describes a network volume inline, if the limits do not list the type
// (VolumeNotAllowed). A node of the provider would connect to whatever server the pod names.
func inlineVolume(pod *corev1.Pod, in Provider) *field.Problem {
	return firstOfVolumes(&pod.Spec, func(v *corev1.Volume) *field.Problem {
		kind := describedType(&v.VolumeSource)
		if kind == "" || slices.Contains(in.Limits.VolumeTypes, kind) {
			return nil
		}
		return field.Refuse(field.ReasonVolumeNotAllowed, "spec.volumes[%s].%s: the provider does not allow inline volumes of this type; "+
			"use a PersistentVolumeClaim, or ask its administrator for it (%s in ConfigMap spillway-provider/limits); "+
			"or, to run the pod on the consumer's own nodes, recreate it with podOffloadingStrategy LocalAndRemote",
			v.Name, kind, field.LimitVolumeTypes)
	})
}

// DescribedVolumes returns a label for each type of volume that the pod describes inline, each once, in
// the order of describable. Virtual nodes have these labels if their providers allow the type. The
// admission policy makes pods require the labels if the pods may also run on the consumer's own nodes.
func DescribedVolumes(pod *corev1.Pod) []string {
	var keys []string
	for _, kind := range field.Describable {
		if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return describedType(&v.VolumeSource) == kind }) {
			keys = append(keys, v1alpha1.LabelVolumePrefix+kind)
		}
	}
	return keys
}

// describedType returns the type of a network volume that the pod describes inline, or "".
func describedType(v *corev1.VolumeSource) string {
	switch {
	case v.NFS != nil:
		return "nfs"
	case v.ISCSI != nil:
		return "iscsi"
	case v.FC != nil:
		return "fc"
	case v.CSI != nil:
		return "csi"
	}
	return ""
}
