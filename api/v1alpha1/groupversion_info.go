// Package v1alpha1 is the API of Spillway: ClusterBinding binds a provider
// cluster, NamespaceOffloading opts a namespace in, and NamespaceMap records
// which remote namespaces that asks for and which there are.
//
// Validation is part of the generated CustomResourceDefinitions (CEL), so that
// no webhook of Spillway stands between a user and the API server. What only
// the controllers can know is reported in conditions.
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
