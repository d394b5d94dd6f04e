package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterConfig is the configuration of a cluster in one of the clouds.
type ClusterConfig struct {
	// eksConfig is that of a cluster in Amazon EKS.
	// +optional
	EKSConfig *EKSConfig `json:"eksConfig,omitempty"`

	// aksConfig is that of a cluster in Azure Kubernetes Service.
	// +optional
	AKSConfig *AKSConfig `json:"aksConfig,omitempty"`

	// gkeConfig is that of a cluster in Google Kubernetes Engine.
	// +optional
	GKEConfig *GKEConfig `json:"gkeConfig,omitempty"`
}

// HostedClusterSpec says which cluster it is, what of it is managed, and who wins where both
// sides have changed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.eksConfig), has(self.aksConfig), has(self.gkeConfig)].exists_one(set, set)",message="exactly one of eksConfig, aksConfig and gkeConfig must be set"
// +kubebuilder:validation:XValidation:rule="has(self.eksConfig) == has(oldSelf.eksConfig) && has(self.aksConfig) == has(oldSelf.aksConfig)",message="a HostedCluster cannot move to another cloud: make another one"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.publicAccessSources) || size(self.eksConfig.publicAccessSources) > 0",message="eksConfig.publicAccessSources must not be empty: EKS takes that as 0.0.0.0/0, which is all addresses. Say so if you mean it, or set publicAccess to false"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.nodeGroups) || self.eksConfig.nodeGroups.all(g, !has(g.launchTemplate) || !(has(g.imageId) || has(g.diskSize) || has(g.ec2SshKey) || has(g.userData) || has(g.resourceTags)))",message="a group of eksConfig.nodeGroups with launchTemplate must not set imageId, diskSize, ec2SshKey, userData or resourceTags: they are in that template. Without launchTemplate, Spillway makes one"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.nodeGroups) || self.eksConfig.nodeGroups.all(g, !has(g.imageId) || !(has(g.version) || has(g.gpu) || has(g.arm)))",message="a group of eksConfig.nodeGroups with imageId must not set version, gpu or arm: they are those of the image"
// +kubebuilder:validation:XValidation:rule="!has(self.eksConfig) || !has(self.eksConfig.nodeGroups) || self.eksConfig.nodeGroups.all(g, !has(g.userData) || has(g.imageId) || size(g.userData) == 0 || g.userData.contains('multipart/'))",message="userData of a group of eksConfig.nodeGroups must be MIME multi-part text, unless the group has an imageId: EKS adds a part of its own"
// +kubebuilder:validation:XValidation:rule="!has(self.lifecycle) || !has(self.lifecycle.mode) || self.lifecycle.mode != 'Create' || has(self.deletionPolicy)",fieldPath=".deletionPolicy",message="deletionPolicy must be set if lifecycle.mode is Create"
type HostedClusterSpec struct {
	ClusterConfig `json:",inline"`

	// credentials are those for the cloud.
	// +required
	Credentials Credentials `json:"credentials,omitzero"`

	// lifecycle says whether the cluster exists already.
	// +optional
	Lifecycle Lifecycle `json:"lifecycle,omitzero"`

	// deletionPolicy says what happens to the cluster in the cloud when the HostedCluster
	// is deleted. If lifecycle.mode is Adopt, it defaults to Orphan; otherwise it must be
	// set. Delete is only for a cluster that Spillway has made for this object: it has the tag
	// (in GKE the label) spillway-hosted-cluster with the object's UID. An object with
	// another cluster waits until the policy is Orphan, or somebody sets the tag.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// sync says how changes on the two sides are brought together.
	// +optional
	Sync Sync `json:"sync,omitzero"`

	// nodePoolPolicy says what happens to node pools in the cloud that are not listed.
	// Defaults to Partial.
	// +optional
	NodePoolPolicy NodePoolPolicy `json:"nodePoolPolicy,omitempty"`

	// binding makes the cluster a provider: a ClusterBinding with short-lived credentials.
	// +optional
	Binding *Binding `json:"binding,omitempty"`

	// paused stops all reads and writes in the cloud. Only the token of a ClusterBinding that
	// is there is renewed.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Credentials are those for the cloud.
//
// +kubebuilder:validation:XValidation:rule="has(self.workloadIdentity) != has(self.secretRef)",message="exactly one of workloadIdentity and secretRef must be set"
type Credentials struct {
	// workloadIdentity uses the identity of the operator's ServiceAccount.
	// +optional
	WorkloadIdentity *WorkloadIdentity `json:"workloadIdentity,omitempty"`

	// secretRef names the Secret, in the operator's own namespace, with the credentials.
	// Its keys: accessKeyID and secretAccessKey for EKS; tenantID, subscriptionID,
	// clientID and clientSecret for AKS; credentials.json for GKE.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// WorkloadIdentity says what the operator's ServiceAccount is in the cloud.
type WorkloadIdentity struct {
	// identity is the ARN of an AWS role, the client ID of an Azure identity, or the e-mail
	// address of a Google service account. Unset: what the operator runs with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Identity string `json:"identity,omitempty"`

	// tenantID is that of Azure.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TenantID string `json:"tenantID,omitempty"`

	// subscriptionID is that of Azure.
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

// LifecycleMode says whether a cluster exists already.
// +kubebuilder:validation:Enum=Adopt;Create
type LifecycleMode string

const (
	// LifecycleAdopt takes a cluster that exists. The default.
	LifecycleAdopt LifecycleMode = "Adopt"
	// LifecycleCreate makes it. One of its name that exists already is left alone.
	LifecycleCreate LifecycleMode = "Create"
)

// Lifecycle says whether the cluster exists already.
//
// +kubebuilder:validation:XValidation:rule="!has(self.manageAll) || !self.manageAll || (has(self.mode) && self.mode == 'Create')",fieldPath=".manageAll",message="manageAll must not be set unless mode is Create"
type Lifecycle struct {
	// mode is Adopt for a cluster that exists, or Create. Defaults to Adopt.
	// +optional
	Mode LifecycleMode `json:"mode,omitempty"`

	// manageAll sets each field that is not set, once the cluster has been created, so that
	// all of them are managed. Only with Create.
	// +optional
	ManageAll bool `json:"manageAll,omitempty"`
}

// DeletionPolicy says what happens to the cluster in the cloud when its HostedCluster is
// deleted.
// +kubebuilder:validation:Enum=Orphan;Delete
type DeletionPolicy string

const (
	// DeletionPolicyOrphan leaves it.
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
	// DeletionPolicyDelete deletes it.
	DeletionPolicyDelete DeletionPolicy = "Delete"
)

// NodePoolPolicy says what happens to node pools in the cloud that are not listed.
// +kubebuilder:validation:Enum=Partial;Exclusive
type NodePoolPolicy string

const (
	// NodePoolPartial leaves them. The default.
	NodePoolPartial NodePoolPolicy = "Partial"
	// NodePoolExclusive deletes them, once there is a list.
	NodePoolExclusive NodePoolPolicy = "Exclusive"
)

// Binding makes the cluster a provider: with a ClusterBinding of the HostedCluster's name.
// What the operator keeps of that are the clusterID, the Secret, and labels of cloud, region
// and version; the rest is up to its users. If the binding is removed, or the HostedCluster
// is deleted, the ClusterBinding is deleted first, which takes back what was sent. What
// dist/provider.yaml has made in the cluster stays.
type Binding struct {
	// clusterID is that of the ClusterBinding: a DNS label of at most 24 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterID is immutable: remove the binding, and add it again"
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="clusterID must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	ClusterID string `json:"clusterID,omitempty"`
}

// HostedCluster is a cluster that EKS, AKS or GKE runs. Fields of its configuration that are
// set are managed: they follow changes in the cloud, and the cloud follows theirs. No change
// that was accepted on either side is lost without a trace.
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
