// Package v1alpha1 is the API of Spillway. ClusterBinding binds a provider cluster.
// NamespaceOffloading opts a namespace in. NamespaceMap records which remote namespaces should
// exist, and which do.
//
// The generated CustomResourceDefinitions validate objects with CEL, so no validating webhook of
// Spillway is needed. Conditions report what only the controllers can know.
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
