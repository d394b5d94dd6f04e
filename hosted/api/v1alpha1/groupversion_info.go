// Package v1alpha1 is the API of hosted clusters. A HostedCluster is a cluster that EKS, AKS or GKE
// runs. Spillway keeps the object and the cluster in step, in both directions.
//
// Fields of a cloud's configuration have no defaults. Spillway does not manage a field that is not
// set. Its value in the cloud stays as it is.
//
// Hosted clusters are opt-in: dist/install.yaml does not contain them. dist/hosted.yaml (make
// install-yaml) adds the kind and its operator, in a namespace of their own, to a consumer with
// dist/install.yaml.
//
// A hosted cluster with spec.binding becomes a provider. The operator applies dist/provider.yaml in
// the cluster, with its identity in the cloud. It keeps a ClusterBinding of the same name, with a
// token that lasts an hour. For that, the identity needs the rights of an administrator in the
// cluster. In EKS, an access entry gives them. In AKS, it needs
// Microsoft.ContainerService/managedClusters/listClusterUserCredential/action, and with Entra ID a
// role in the cluster. In GKE, it needs roles/container.admin.
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
