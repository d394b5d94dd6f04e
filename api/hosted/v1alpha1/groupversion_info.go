// Package v1alpha1 is the API of hosted clusters: HostedCluster is a cluster that EKS,
// AKS or GKE runs, and follows what is changed on either side of it.
//
// Fields of a cloud's configuration have no defaults: one that is not set is not managed,
// and stays as it is in the cloud.
//
// Hosted clusters are opt-in: dist/install.yaml knows nothing of them. dist/hosted.yaml (make
// install-yaml) adds the kind and its operator, in a namespace of their own, to a consumer
// that has dist/install.yaml.
//
// With spec.binding a hosted cluster becomes a provider: the operator applies
// dist/provider.yaml there, as the identity in the cloud, and keeps a ClusterBinding, of the
// same name, with a token that lasts an hour. It needs the rights of an administrator in the
// cluster for that: an access entry in EKS; in AKS
// Microsoft.ContainerService/managedClusters/listClusterUserCredential/action, and with
// Entra ID a role in the cluster; in GKE roles/container.admin.
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
