package v1alpha1

// GKEConfig is the configuration of a cluster in Google Kubernetes Engine. Spillway manages only
// the fields that are set.
//
// +kubebuilder:validation:XValidation:rule="has(self.region) != has(self.zone)",message="exactly one of region and zone must be set"
type GKEConfig struct {
	// projectID is the Google Cloud project. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ProjectID string `json:"projectID,omitempty"`

	// clusterName is the name of the cluster in its location. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ClusterName string `json:"clusterName,omitempty"`

	// region is the location of a regional cluster, such as europe-west3. Set either region or
	// zone. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Region *string `json:"region,omitempty"`

	// zone is the location of a zonal cluster, such as europe-west3-a. Set either region or zone.
	// It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Zone *string `json:"zone,omitempty"`

	// kubernetesVersion is the version of the control plane, such as 1.33.2-gke.100. Its first
	// parts, such as 1.33 or 1.33.2, stand for any version that begins with them.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`

	// clusterAddons are the add-ons of the cluster.
	// +optional
	ClusterAddons *GKEClusterAddons `json:"clusterAddons,omitempty"`

	// masterAuthorizedNetworks are the networks that may reach the API server.
	// +optional
	MasterAuthorizedNetworks *GKEMasterAuthorizedNetworks `json:"masterAuthorizedNetworks,omitempty"`

	// loggingService is the service that stores logs: logging.googleapis.com/kubernetes or none.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LoggingService *string `json:"loggingService,omitempty"`

	// monitoringService is the service that stores metrics: monitoring.googleapis.com/kubernetes or
	// none.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	MonitoringService *string `json:"monitoringService,omitempty"`

	// networkPolicyEnabled says whether the cluster enforces NetworkPolicies.
	// +optional
	NetworkPolicyEnabled *bool `json:"networkPolicyEnabled,omitempty"`

	// locations are the zones of the nodes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	Locations []string `json:"locations,omitzero"`

	// maintenanceWindow is when daily maintenance starts, in UTC, as HH:MM. If it is empty,
	// maintenance may start at any time.
	// +optional
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]:[0-5][0-9]|2[0-3]:[0-5][0-9])?$`
	MaintenanceWindow *string `json:"maintenanceWindow,omitempty"`

	// labels are Google Cloud labels of the cluster. Spillway keeps keys that are not listed. The
	// value null deletes a key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]*string `json:"labels,omitzero"`

	// description of the cluster. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description *string `json:"description,omitempty"`

	// network is the VPC network. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Network *string `json:"network,omitempty"`

	// subnetwork is the subnetwork of the nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Subnetwork *string `json:"subnetwork,omitempty"`

	// clusterIpv4Cidr is the address range of pods. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	ClusterIPv4CIDR *string `json:"clusterIpv4Cidr,omitempty"`

	// ipAllocationPolicy says how GKE assigns addresses. It cannot be changed.
	// +optional
	IPAllocationPolicy *GKEIPAllocationPolicy `json:"ipAllocationPolicy,omitempty"`

	// privateClusterConfig says which parts of the cluster have only private addresses. It cannot
	// be changed.
	// +optional
	PrivateClusterConfig *GKEPrivateClusterConfig `json:"privateClusterConfig,omitempty"`

	// enableKubernetesAlpha says whether alpha features are enabled. GKE deletes such a cluster
	// after 30 days. It cannot be changed.
	// +optional
	EnableKubernetesAlpha *bool `json:"enableKubernetesAlpha,omitempty"`

	// autopilotConfig says whether Google manages the nodes. It cannot be changed.
	// +optional
	AutopilotConfig *GKEAutopilotConfig `json:"autopilotConfig,omitempty"`

	// customerManagedEncryptionKey is the Cloud KMS key of the boot disks. It cannot be
	// changed.
	// +optional
	CustomerManagedEncryptionKey *GKEEncryptionKey `json:"customerManagedEncryptionKey,omitempty"`

	// nodePools are the node pools that Spillway manages. spec.nodePoolPolicy says what happens to
	// others.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodePools []GKENodePool `json:"nodePools,omitzero"`
}

// GKEClusterAddons are add-ons of a cluster.
type GKEClusterAddons struct {
	// httpLoadBalancing says whether GKE creates load balancers for Ingresses.
	// +optional
	HTTPLoadBalancing *bool `json:"httpLoadBalancing,omitempty"`

	// horizontalPodAutoscaling says whether HorizontalPodAutoscalers work.
	// +optional
	HorizontalPodAutoscaling *bool `json:"horizontalPodAutoscaling,omitempty"`

	// networkPolicyConfig says whether the cluster can enforce NetworkPolicies.
	// networkPolicyEnabled says whether it does.
	// +optional
	NetworkPolicyConfig *bool `json:"networkPolicyConfig,omitempty"`
}

// GKEMasterAuthorizedNetworks are the networks that may reach the API server.
type GKEMasterAuthorizedNetworks struct {
	// enabled says whether other networks are blocked.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// cidrBlocks are the networks.
	// +optional
	// +listType=map
	// +listMapKey=cidrBlock
	// +kubebuilder:validation:MaxItems=100
	CIDRBlocks []GKECIDRBlock `json:"cidrBlocks,omitzero"`
}

// GKECIDRBlock is a network with a name.
type GKECIDRBlock struct {
	// cidrBlock is the network in CIDR notation.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	CIDRBlock string `json:"cidrBlock,omitempty"`

	// displayName is the name of the network.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DisplayName *string `json:"displayName,omitempty"`
}

// GKEIPAllocationPolicy says how GKE assigns addresses.
type GKEIPAllocationPolicy struct {
	// useIpAliases says whether the cluster is VPC-native.
	// +optional
	UseIPAliases *bool `json:"useIpAliases,omitempty"`

	// createSubnetwork says whether GKE creates a subnetwork for the cluster.
	// +optional
	CreateSubnetwork *bool `json:"createSubnetwork,omitempty"`

	// subnetworkName is the name of the subnetwork that GKE creates.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	SubnetworkName *string `json:"subnetworkName,omitempty"`

	// clusterIpv4CidrBlock is the address range of pods.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	ClusterIPv4CIDRBlock *string `json:"clusterIpv4CidrBlock,omitempty"`

	// clusterSecondaryRangeName is the name of the secondary range for pods.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ClusterSecondaryRangeName *string `json:"clusterSecondaryRangeName,omitempty"`

	// servicesIpv4CidrBlock is the address range of Services.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	ServicesIPv4CIDRBlock *string `json:"servicesIpv4CidrBlock,omitempty"`

	// servicesSecondaryRangeName is the name of the secondary range for Services.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ServicesSecondaryRangeName *string `json:"servicesSecondaryRangeName,omitempty"`

	// nodeIpv4CidrBlock is the address range of the nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	NodeIPv4CIDRBlock *string `json:"nodeIpv4CidrBlock,omitempty"`
}

// GKEPrivateClusterConfig says which parts of the cluster have only private addresses.
type GKEPrivateClusterConfig struct {
	// enablePrivateEndpoint says whether the API server has only a private address.
	// +optional
	EnablePrivateEndpoint *bool `json:"enablePrivateEndpoint,omitempty"`

	// enablePrivateNodes says whether the nodes have only private addresses.
	// +optional
	EnablePrivateNodes *bool `json:"enablePrivateNodes,omitempty"`

	// masterIpv4CidrBlock is the address range of the API server. Its size must be /28.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	MasterIPv4CIDRBlock *string `json:"masterIpv4CidrBlock,omitempty"`
}

// GKEAutopilotConfig says whether Google manages the nodes.
type GKEAutopilotConfig struct {
	// enabled says whether Google manages the nodes.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// GKEEncryptionKey is a key in Cloud KMS.
type GKEEncryptionKey struct {
	// ringName is the name of the key ring.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RingName *string `json:"ringName,omitempty"`

	// keyName is the name of the key.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	KeyName *string `json:"keyName,omitempty"`
}

// GKENodePool is a node pool. Spillway manages only the fields that are set.
type GKENodePool struct {
	// name of the pool in its cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name,omitempty"`

	// version is the version of the nodes, such as 1.33.2-gke.100. Its first parts, such as 1.33 or
	// 1.33.2, stand for any version that begins with them. It must not be higher than the control
	// plane's version.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Version *string `json:"version,omitempty"`

	// initialNodeCount is the number of nodes in each zone. While the pool scales itself, Spillway
	// neither compares nor sends it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InitialNodeCount *int32 `json:"initialNodeCount,omitempty"`

	// autoscaling says how the pool scales itself.
	// +optional
	Autoscaling *GKEAutoscaling `json:"autoscaling,omitempty"`

	// management says what GKE does with the nodes on its own.
	// +optional
	Management *GKEManagement `json:"management,omitempty"`

	// config is the configuration of the nodes.
	// +optional
	Config *GKENodeConfig `json:"config,omitempty"`

	// maxPodsConstraint is the maximum number of pods on a node. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPodsConstraint *int32 `json:"maxPodsConstraint,omitempty"`
}

// GKEAutoscaling says how a pool scales itself.
type GKEAutoscaling struct {
	// enabled says whether the pool scales itself.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// minNodeCount is the smallest number of nodes in each zone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinNodeCount *int32 `json:"minNodeCount,omitempty"`

	// maxNodeCount is the largest number of nodes in each zone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxNodeCount *int32 `json:"maxNodeCount,omitempty"`
}

// GKEManagement says what GKE does with the nodes of a pool on its own.
type GKEManagement struct {
	// autoRepair says whether GKE replaces broken nodes.
	// +optional
	AutoRepair *bool `json:"autoRepair,omitempty"`

	// autoUpgrade says whether GKE upgrades the nodes to the control plane's version.
	// +optional
	AutoUpgrade *bool `json:"autoUpgrade,omitempty"`
}

// GKENodeConfig is the configuration of the nodes of a pool.
type GKENodeConfig struct {
	// labels are labels of the Nodes. Spillway keeps keys that are not listed. The value null
	// deletes a key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]*string `json:"labels,omitzero"`

	// machineType is the machine type, such as e2-standard-4. A change replaces the nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MachineType *string `json:"machineType,omitempty"`

	// imageType is the type of the node image, such as COS_CONTAINERD. A change replaces the nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageType *string `json:"imageType,omitempty"`

	// diskType is the type of the boot disk, such as pd-balanced. A change replaces the nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DiskType *string `json:"diskType,omitempty"`

	// diskSizeGb is the size of the boot disk in GB. A change replaces the nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DiskSizeGB *int32 `json:"diskSizeGb,omitempty"`

	// localSsdCount is the number of local SSDs. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LocalSSDCount *int32 `json:"localSsdCount,omitempty"`

	// oauthScopes are the OAuth scopes of the nodes' credentials. They cannot be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	OAuthScopes []string `json:"oauthScopes,omitzero"`

	// preemptible says whether the nodes are preemptible. It cannot be changed.
	// +optional
	Preemptible *bool `json:"preemptible,omitempty"`

	// tags are network tags of the nodes. A change replaces all of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Tags []string `json:"tags,omitzero"`

	// taints are all taints of the Nodes. A change replaces all of them.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=64
	Taints []GKETaint `json:"taints,omitzero"`

	// bootDiskKmsKey is the Cloud KMS key of the boot disk. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	BootDiskKMSKey *string `json:"bootDiskKmsKey,omitempty"`

	// serviceAccount is the Google service account of the nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ServiceAccount *string `json:"serviceAccount,omitempty"`
}

// GKETaint is a taint of Nodes.
type GKETaint struct {
	// key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`

	// effect of the taint: NO_SCHEDULE, PREFER_NO_SCHEDULE or NO_EXECUTE.
	// +required
	// +kubebuilder:validation:Enum=NO_SCHEDULE;PREFER_NO_SCHEDULE;NO_EXECUTE
	Effect string `json:"effect,omitempty"`

	// value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value *string `json:"value,omitempty"`
}
