package state

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// Twin returns the HostedCluster that is for the same cluster and comes first; nil if there is none. uid is
// the cluster's identity, if it was read.
func Twin(h *v1alpha1.HostedCluster, uid string, all []v1alpha1.HostedCluster) *v1alpha1.HostedCluster {
	for i := range all {
		if other := &all[i]; other.UID != h.UID && first(other, h) && sameCluster(h, uid, other) {
			return other
		}
	}
	return nil
}

// first reports whether a comes before b: an object that has read the cluster comes first, or else the older
// one.
func first(a, b *v1alpha1.HostedCluster) bool {
	if read := a.Status.UpstreamUID != ""; read != (b.Status.UpstreamUID != "") {
		return read
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// sameCluster reports whether both objects are for the same cluster, as far as is known. An object that was
// edited to another cluster has a UID of its own cluster, and becomes Replaced instead.
func sameCluster(h *v1alpha1.HostedCluster, uid string, other *v1alpha1.HostedCluster) bool {
	was, has := h.Status.UpstreamUID, other.Status.UpstreamUID
	switch {
	case !Namesakes(h, other), was != "" && has != "" && was != has:
		return false
	case uid != "" && uid == has:
		return true
	case uid != "" && has != "":
		return false
	case h.Spec.GKEConfig != nil:
		return place(h) == place(other) // The name of a project is unique.
	default:
		return place(h) == place(other) && equality.Semantic.DeepEqual(h.Spec.Credentials, other.Spec.Credentials)
	}
}

// Namesakes reports whether the clusters of both objects have the same name in the same cloud. In EKS they
// must be in the same region too, because the identity there is only a time.
func Namesakes(a, b *v1alpha1.HostedCluster) bool { return name(a) == name(b) }

func name(h *v1alpha1.HostedCluster) string {
	switch spec := h.Spec; {
	case spec.EKSConfig != nil:
		return "EKS/" + spec.EKSConfig.Region + "/" + spec.EKSConfig.DisplayName
	case spec.AKSConfig != nil:
		return "AKS/" + strings.ToLower(spec.AKSConfig.ClusterName)
	case spec.GKEConfig != nil:
		return "GKE/" + spec.GKEConfig.ClusterName
	default:
		return ""
	}
}

// place returns the scope in which the name is unique, for the same credentials.
func place(h *v1alpha1.HostedCluster) string {
	switch spec := h.Spec; {
	case spec.AKSConfig != nil:
		return strings.ToLower(spec.AKSConfig.ResourceGroup)
	case spec.GKEConfig != nil:
		location := spec.GKEConfig.Region
		if location == nil {
			location = spec.GKEConfig.Zone
		}
		if location != nil {
			return spec.GKEConfig.ProjectID + "/" + *location
		}
	}
	return ""
}

// Moved reports whether an edit or a read may have changed for which cluster an object is.
func Moved(before, after *v1alpha1.HostedCluster) bool {
	return name(before) != name(after) || place(before) != place(after) || before.Status.UpstreamUID != after.Status.UpstreamUID ||
		!equality.Semantic.DeepEqual(before.Spec.Credentials, after.Spec.Credentials)
}
