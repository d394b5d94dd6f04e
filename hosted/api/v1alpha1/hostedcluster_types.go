package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterConfig is the configuration of a cluster in one of the clouds.
type ClusterConfig struct {
	// eksConfig is the configuration of a cluster in Amazon EKS.
	// +optional
	EKSConfig *EKSConfig `json:"eksConfig,omitempty"`

	// aksConfig is the configuration of a cluster in Azure Kubernetes Service.
	// +optional
	AKSConfig *AKSConfig `json:"aksConfig,omitempty"`

	// gkeConfig is the configuration of a cluster in Google Kubernetes Engine.
	// +optional
	GKEConfig *GKEConfig `json:"gkeConfig,omitempty"`
}

// HostedClusterSpec says which cluster it is, which of its fields Spillway manages, and which side
// wins if both have changed a field.
//
// +kubebuilder:validation:XValidation:rule="[has(self.eksConfig), has(self.aksConfig), has(self.gkeConfig)].exists_one(set, set)",message="exactly one of eksConfig, aksConfig and gkeConfig must be set"
// +kubebuilder:validation:XValidation:rule="has(self.eksConfig) == has(oldSelf.eksConfig) && has(self.aksConfig) == has(oldSelf.aksConfig)",message="a HostedCluster cannot change its cloud: create another one"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.publicAccessSources) || size(self.eksConfig.publicAccessSources) > 0",message="eksConfig.publicAccessSources must not be empty: EKS treats that as 0.0.0.0/0, which is all addresses. Set it explicitly, or set publicAccess to false"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.nodeGroups) || self.eksConfig.nodeGroups.all(g, !has(g.launchTemplate) || !(has(g.imageId) || has(g.diskSize) || has(g.ec2SshKey) || has(g.userData) || has(g.resourceTags)))",message="a group of eksConfig.nodeGroups with launchTemplate must not set imageId, diskSize, ec2SshKey, userData or resourceTags: set them in that template. Or omit launchTemplate, and Spillway creates one"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.nodeGroups) || self.eksConfig.nodeGroups.all(g, !has(g.imageId) || !(has(g.version) || has(g.gpu) || has(g.arm)))",message="a group of eksConfig.nodeGroups with imageId must not set version, gpu or arm: the image defines them"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.nodeGroups) || self.eksConfig.nodeGroups.all(g, !has(g.userData) || has(g.imageId) || size(g.userData) == 0 || g.userData.contains('multipart/'))",message="userData of a group of eksConfig.nodeGroups must be MIME multi-part text, unless the group has an imageId: EKS appends its own part"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.nodeGroups) || self.eksConfig.nodeGroups.all(g, (!has(g.minSize) || !has(g.desiredSize) || g.minSize <= g.desiredSize) && (!has(g.desiredSize) || !has(g.maxSize) || g.desiredSize <= g.maxSize) && (!has(g.minSize) || !has(g.maxSize) || g.minSize <= g.maxSize))",message="a group of eksConfig.nodeGroups must have minSize <= desiredSize <= maxSize: EKS refuses anything else"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || !has(self.lifecycle.mode) || self.lifecycle.mode != 'Create' || has(self.deletionPolicy)",fieldPath=".deletionPolicy",message="deletionPolicy must be set if lifecycle.mode is Create"
type HostedClusterSpec struct {
	ClusterConfig `json:",inline"`

	// credentials are the credentials for the cloud.
	// +required
	Credentials Credentials `json:"credentials,omitzero"`

	// lifecycle says whether Spillway adopts an existing cluster or creates one.
	// +optional
	Lifecycle Lifecycle `json:"lifecycle,omitzero"`

	// deletionPolicy says what happens to the cluster in the cloud when the HostedCluster is
	// deleted. Orphan leaves it. Delete deletes it. Defaults to Orphan if lifecycle.mode is Adopt.
	// Required if lifecycle.mode is Create. Delete works only for a cluster that Spillway has
	// created for this object. Such a cluster has the tag (in GKE the label)
	// spillway-hosted-cluster with the object's UID. For another cluster, the deletion waits until
	// the policy is Orphan, or somebody sets the tag.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// sync says how Spillway merges changes of the two sides.
	// +optional
	Sync Sync `json:"sync,omitzero"`

	// nodePoolPolicy says what happens to node pools in the cloud that are not listed. Partial
	// leaves them alone. Exclusive deletes them, if the list is set. Defaults to Partial.
	// +optional
	NodePoolPolicy NodePoolPolicy `json:"nodePoolPolicy,omitempty"`

	// binding makes the cluster a provider, with a ClusterBinding and short-lived credentials. If
	// it is unset, there is no ClusterBinding.
	// +optional
	Binding *Binding `json:"binding,omitempty"`

	// paused stops all reads and writes in the cloud. The operator still renews the token of an
	// existing ClusterBinding. Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Credentials are the credentials for the cloud.
//
// +kubebuilder:validation:XValidation:rule="has(self.workloadIdentity) != has(self.secretRef)",message="exactly one of workloadIdentity and secretRef must be set"
type Credentials struct {
	// workloadIdentity uses the identity of the operator's ServiceAccount. Set either
	// workloadIdentity or secretRef.
	// +optional
	WorkloadIdentity *WorkloadIdentity `json:"workloadIdentity,omitempty"`

	// secretRef names the Secret with the credentials, in the operator's own namespace. Its keys
	// are accessKeyID and secretAccessKey for EKS; tenantID, subscriptionID, clientID and
	// clientSecret for AKS; credentials.json for GKE.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// WorkloadIdentity says which identity the operator's ServiceAccount has in the cloud.
type WorkloadIdentity struct {
	// identity is the ARN of an AWS role, the client ID of an Azure identity, or the e-mail address
	// of a Google service account. Defaults to the identity that the operator runs with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Identity string `json:"identity,omitempty"`

	// tenantID is the ID of the Azure tenant.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TenantID string `json:"tenantID,omitempty"`

	// subscriptionID is the ID of the Azure subscription.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	SubscriptionID string `json:"subscriptionID,omitempty"`
}

// SecretReference names a Secret in the operator's own namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="name must be the name of a Secret: a DNS subdomain"
	Name string `json:"name,omitempty"`
}

// LifecycleMode says whether Spillway adopts an existing cluster or creates one.
// +kubebuilder:validation:Enum=Adopt;Create
type LifecycleMode string

const (
	// LifecycleAdopt adopts an existing cluster. The default.
	LifecycleAdopt LifecycleMode = "Adopt"
	// LifecycleCreate creates the cluster. It leaves an existing cluster of that name alone.
	LifecycleCreate LifecycleMode = "Create"
)

// Lifecycle says whether Spillway adopts an existing cluster or creates one.
//
// +kubebuilder:validation:XValidation:rule="!has(self.manageAll) || !self.manageAll || (has(self.mode) && self.mode == 'Create')",fieldPath=".manageAll",message="manageAll must not be set unless mode is Create"
type Lifecycle struct {
	// mode is Adopt for an existing cluster, or Create for a new one. Defaults to Adopt.
	// +optional
	Mode LifecycleMode `json:"mode,omitempty"`

	// manageAll sets all unset fields in the spec once the cluster has been created. Then Spillway
	// manages all of them. Only with mode Create. Defaults to false.
	// +optional
	ManageAll bool `json:"manageAll,omitempty"`
}

// DeletionPolicy says what happens to the cluster in the cloud when its HostedCluster is
// deleted.
// +kubebuilder:validation:Enum=Orphan;Delete
type DeletionPolicy string

const (
	// DeletionPolicyOrphan leaves the cluster in the cloud.
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
	// DeletionPolicyDelete deletes the cluster.
	DeletionPolicyDelete DeletionPolicy = "Delete"
)

// NodePoolPolicy says what happens to node pools in the cloud that are not listed.
// +kubebuilder:validation:Enum=Partial;Exclusive
type NodePoolPolicy string

const (
	// NodePoolPartial leaves them alone. The default.
	NodePoolPartial NodePoolPolicy = "Partial"
	// NodePoolExclusive deletes them, if the spec has a list.
	NodePoolExclusive NodePoolPolicy = "Exclusive"
)

// Binding makes the cluster a provider, with a ClusterBinding of the HostedCluster's name. The
// operator sets only the ClusterBinding's clusterID, its Secret, and its labels of cloud, region
// and version. Users may set all other fields. If the binding is removed or the HostedCluster is
// deleted, the operator first deletes the ClusterBinding, which drains the provider. The objects of
// dist/provider.yaml stay in the cluster.
type Binding struct {
	// clusterID is the clusterID of the ClusterBinding. It is a DNS label of at most 24 characters.
	// Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterID is immutable: remove the binding, and add it again"
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="clusterID must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	ClusterID string `json:"clusterID,omitempty"`
}

// HostedCluster is a cluster that EKS, AKS or GKE runs. Spillway manages the fields of its
// configuration that are set: it sends them to the cloud, and follows changes in the cloud. No
// change that either side has accepted is lost without a trace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=hc,categories=spillway
// +kubebuilder:printcolumn:name="Cloud",type=string,JSONPath=`.status.cloud`
// +kubebuilder:printcolumn:name="Location",type=string,JSONPath=`.status.location`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="In Sync",type=string,JSONPath=`.status.conditions[?(@.type=="InSync")].status`
// +kubebuilder:printcolumn:name="Conflicts",type=integer,JSONPath=`.status.conflictCount`
// +kubebuilder:printcolumn:name="Updating",type=string,JSONPath=`.status.conditions[?(@.type=="Updating")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HostedCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is the desired state.
	// +required
	Spec HostedClusterSpec `json:"spec,omitzero"`
	// status is the observed state.
	// +optional
	Status HostedClusterStatus `json:"status,omitzero"`
}

// HostedClusterList is a list of HostedClusters.
// +kubebuilder:object:root=true
type HostedClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HostedCluster `json:"items"`
}

func init() { SchemeBuilder.Register(&HostedCluster{}, &HostedClusterList{}) }
