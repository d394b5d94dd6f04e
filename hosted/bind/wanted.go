package bind

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// regionLabel is the label of Kubernetes for the region.
const regionLabel = "topology.kubernetes.io/region"

// secretName returns the name of a HostedCluster's Secret.
func secretName(h *hosted.HostedCluster) string { return "hosted-" + h.Name }

// wanted returns the ClusterBinding that spec.binding asks for, with only our fields; nil if there should be
// none.
func wanted(h *hosted.HostedCluster) *v1alpha1.ClusterBinding {
	if h.Spec.Binding == nil || !h.DeletionTimestamp.IsZero() {
		return nil
	}
	cloud, region, version := describe(h)
	node := map[string]v1alpha1.LabelValue{}
	labels := map[string]string{hosted.LabelHostedCluster: string(h.UID)}
	for key, value := range map[string]string{hosted.LabelCloud: cloud, regionLabel: region} {
		if label(value) {
			labels[key], node[key] = value, v1alpha1.LabelValue(value)
		}
	}
	if label(version) {
		labels[hosted.LabelVersion] = version
	}
	return &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: h.Name, Labels: labels},
		Spec: v1alpha1.ClusterBindingSpec{
			ClusterID:           h.Spec.Binding.ClusterID,
			KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: secretName(h), Key: v1alpha1.DefaultKubeconfigKey},
			VirtualNode:         v1alpha1.VirtualNodeTemplate{Labels: node},
		},
	}
}

// describe returns the cloud, the region and the minor version of a cluster. The version is from the last
// reading.
func describe(h *hosted.HostedCluster) (cloud, region, version string) {
	upstream := h.Status.UpstreamSpec
	switch spec := h.Spec.ClusterConfig; {
	case spec.EKSConfig != nil:
		cloud, region = "eks", spec.EKSConfig.Region
		if upstream.EKSConfig != nil {
			version = value(upstream.EKSConfig.KubernetesVersion)
		}
	case spec.AKSConfig != nil:
		cloud, region = "aks", spec.AKSConfig.ResourceLocation
		if upstream.AKSConfig != nil {
			version = value(upstream.AKSConfig.KubernetesVersion)
		}
	case spec.GKEConfig != nil:
		cloud, region = "gke", cmp.Or(value(spec.GKEConfig.Region), regionOf(value(spec.GKEConfig.Zone)))
		if upstream.GKEConfig != nil {
			version = value(upstream.GKEConfig.KubernetesVersion)
		}
	}
	return cloud, strings.ToLower(strings.ReplaceAll(region, " ", "")), minor(version)
}

// regionOf returns europe-west1 for europe-west1-b.
func regionOf(zone string) string {
	if last := strings.LastIndex(zone, "-"); last > 0 {
		return zone[:last]
	}
	return ""
}

// minor returns 1.33 for v1.33.2-gke.100.
func minor(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "." + parts[1]
}

func label(value string) bool {
	return value != "" && len(validation.IsValidLabelValue(value)) == 0
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
