// Package v1alpha1 is the API of hosted clusters: HostedCluster is a cluster that EKS,
// AKS or GKE runs, and follows what is changed on either side of it.
//
// Fields of a cloud's configuration have no defaults: one that is not set is not managed,
// and stays as it is in the cloud.
//
// The kind is no part of an install yet: its controller is being written.
//
// +kubebuilder:object:generate=true
// +groupName=hosted.spillway.io
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: "hosted.spillway.io", Version: "v1alpha1"}

	// SchemeBuilder collects the kinds of this package.
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
