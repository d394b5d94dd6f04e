// Package v1alpha1 is the API of Spillway: ClusterBinding binds a provider cluster,
// NamespaceOffloading opts a namespace in, and NamespaceMap records which remote
// namespaces are wanted and which exist.
//
// The generated CustomResourceDefinitions validate objects (CEL), so no webhook of
// Spillway sits between users and the API server. Conditions report what only the
// controllers can know.
//
// +kubebuilder:object:generate=true
// +groupName=offloading.spillway.io
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: "offloading.spillway.io", Version: "v1alpha1"}

	// SchemeBuilder collects the kinds of this package.
	SchemeBuilder = &scheme.Builder{GroupVersion: GroupVersion}

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
