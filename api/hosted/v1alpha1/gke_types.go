package v1alpha1

// GKEConfig is the configuration of a cluster in Google Kubernetes Engine. What is not
// set is not managed.
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

	// region is the location of a regional cluster, such as europe-west3. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Region *string `json:"region,omitempty"`

	// zone is the location of a zonal cluster, such as europe-west3-a. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Zone *string `json:"zone,omitempty"`

	// kubernetesVersion is the version of the control plane: 1.33.2-gke.100, or a prefix of
	// it that ends before a dot, a hyphen or the end.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`

	// clusterAddons are the add-ons of the cluster.
	// +optional
	ClusterAddons *GKEClusterAddons `json:"clusterAddons,omitempty"`

	// masterAuthorizedNetworks are the networks that reach the API server.
	// +optional
	MasterAuthorizedNetworks *GKEMasterAuthorizedNetworks `json:"masterAuthorizedNetworks,omitempty"`

	// loggingService is logging.googleapis.com/kubernetes or none.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	LoggingService *string `json:"loggingService,omitempty"`

	// monitoringService is monitoring.googleapis.com/kubernetes or none.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	MonitoringService *string `json:"monitoringService,omitempty"`

	// networkPolicyEnabled says whether network policies are enforced.
	// +optional
	NetworkPolicyEnabled *bool `json:"networkPolicyEnabled,omitempty"`

	// locations are the zones of the nodes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	Locations []string `json:"locations,omitzero"`

	// maintenanceWindow is when daily maintenance starts, in UTC, as HH:MM; empty: at any
	// time.
	// +optional
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]:[0-5][0-9]|2[0-3]:[0-5][0-9])?$`
	MaintenanceWindow *string `json:"maintenanceWindow,omitempty"`

	// labels are Google Cloud labels of the cluster. Keys that are not listed are kept; null
	// deletes one.
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

	// clusterIpv4Cidr is the range of Pods. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	ClusterIPv4CIDR *string `json:"clusterIpv4Cidr,omitempty"`

	// ipAllocationPolicy says how addresses are assigned. It cannot be changed.
	// +optional
	IPAllocationPolicy *GKEIPAllocationPolicy `json:"ipAllocationPolicy,omitempty"`

	// privateClusterConfig says which parts have private addresses only. It cannot be
	// changed.
	// +optional
	PrivateClusterConfig *GKEPrivateClusterConfig `json:"privateClusterConfig,omitempty"`

	// enableKubernetesAlpha says whether alpha features are on. Such a cluster ends after 30
	// days. It cannot be changed.
	// +optional
	EnableKubernetesAlpha *bool `json:"enableKubernetesAlpha,omitempty"`

	// autopilotConfig says whether Google runs the nodes. It cannot be changed.
	// +optional
	AutopilotConfig *GKEAutopilotConfig `json:"autopilotConfig,omitempty"`

	// customerManagedEncryptionKey is the Cloud KMS key of the boot disks. It cannot be
	// changed.
	// +optional
	CustomerManagedEncryptionKey *GKEEncryptionKey `json:"customerManagedEncryptionKey,omitempty"`

	// nodePools are node pools. What happens to others is up to spec.nodePoolPolicy.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodePools []GKENodePool `json:"nodePools,omitzero"`
}

// GKEClusterAddons are add-ons of a cluster.
type GKEClusterAddons struct {
	// httpLoadBalancing says whether Ingresses get a load balancer.
	// +optional
	HTTPLoadBalancing *bool `json:"httpLoadBalancing,omitempty"`

	// horizontalPodAutoscaling says whether HorizontalPodAutoscalers work.
	// +optional
	HorizontalPodAutoscaling *bool `json:"horizontalPodAutoscaling,omitempty"`

	// networkPolicyConfig says whether network policies can be enforced; see
	// networkPolicyEnabled.
	// +optional
	NetworkPolicyConfig *bool `json:"networkPolicyConfig,omitempty"`
}

// GKEMasterAuthorizedNetworks are the networks that reach the API server.
type GKEMasterAuthorizedNetworks struct {
	// enabled says whether others are kept away.
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

	// displayName is its name.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DisplayName *string `json:"displayName,omitempty"`
}

// GKEIPAllocationPolicy says how addresses are assigned.
type GKEIPAllocationPolicy struct {
	// useIpAliases says whether the cluster is VPC-native.
	// +optional
	UseIPAliases *bool `json:"useIpAliases,omitempty"`

	// createSubnetwork says whether a subnetwork is made for the cluster.
	// +optional
	CreateSubnetwork *bool `json:"createSubnetwork,omitempty"`

	// subnetworkName is its name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	SubnetworkName *string `json:"subnetworkName,omitempty"`

	// clusterIpv4CidrBlock is the range of Pods.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	ClusterIPv4CIDRBlock *string `json:"clusterIpv4CidrBlock,omitempty"`

	// clusterSecondaryRangeName is the secondary range of Pods.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ClusterSecondaryRangeName *string `json:"clusterSecondaryRangeName,omitempty"`

	// servicesIpv4CidrBlock is the range of Services.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	ServicesIPv4CIDRBlock *string `json:"servicesIpv4CidrBlock,omitempty"`

	// servicesSecondaryRangeName is the secondary range of Services.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ServicesSecondaryRangeName *string `json:"servicesSecondaryRangeName,omitempty"`

	// nodeIpv4CidrBlock is the range of the nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	NodeIPv4CIDRBlock *string `json:"nodeIpv4CidrBlock,omitempty"`
}

// GKEPrivateClusterConfig says which parts have private addresses only.
type GKEPrivateClusterConfig struct {
	// enablePrivateEndpoint says whether the API server has.
	// +optional
	EnablePrivateEndpoint *bool `json:"enablePrivateEndpoint,omitempty"`

	// enablePrivateNodes says whether the nodes have.
	// +optional
	EnablePrivateNodes *bool `json:"enablePrivateNodes,omitempty"`

	// masterIpv4CidrBlock is the range of the API server, a /28.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	MasterIPv4CIDRBlock *string `json:"masterIpv4CidrBlock,omitempty"`
}

// GKEAutopilotConfig says whether Google runs the nodes.
type GKEAutopilotConfig struct {
	// enabled says whether Google runs the nodes.
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

// GKENodePool is a node pool. What is not set is not managed.
type GKENodePool struct {
	// name names the pool in its cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name,omitempty"`

	// version is the version of the nodes: 1.33.2-gke.100, or a prefix of it that ends
	// before a dot, a hyphen or the end; not above that of the control plane.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Version *string `json:"version,omitempty"`

	// initialNodeCount is the number of nodes in each zone. It is neither compared nor sent
	// while the pool scales itself.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InitialNodeCount *int32 `json:"initialNodeCount,omitempty"`

	// autoscaling says how the pool scales itself.
	// +optional
	Autoscaling *GKEAutoscaling `json:"autoscaling,omitempty"`

	// management says what GKE does with the nodes by itself.
	// +optional
	Management *GKEManagement `json:"management,omitempty"`

	// config is the configuration of the nodes.
	// +optional
	Config *GKENodeConfig `json:"config,omitempty"`

	// maxPodsConstraint is how many pods a node can have. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPodsConstraint *int32 `json:"maxPodsConstraint,omitempty"`
}

// GKEAutoscaling says how a pool scales itself.
type GKEAutoscaling struct {
	// enabled says whether it does.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// minNodeCount is the least number of nodes in each zone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinNodeCount *int32 `json:"minNodeCount,omitempty"`

	// maxNodeCount is the largest number of nodes in each zone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxNodeCount *int32 `json:"maxNodeCount,omitempty"`
}

// GKEManagement says what GKE does with the nodes of a pool by itself.
type GKEManagement struct {
	// autoRepair says whether broken nodes are replaced.
	// +optional
	AutoRepair *bool `json:"autoRepair,omitempty"`

	// autoUpgrade says whether nodes follow the version of the control plane.
	// +optional
	AutoUpgrade *bool `json:"autoUpgrade,omitempty"`
}

// GKENodeConfig is the configuration of the nodes of a pool.
type GKENodeConfig struct {
	// labels are labels of the Nodes. Keys that are not listed are kept; null deletes one.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]*string `json:"labels,omitzero"`

	// machineType is the machine type, such as e2-standard-4. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MachineType *string `json:"machineType,omitempty"`

	// imageType is the image, such as COS_CONTAINERD. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageType *string `json:"imageType,omitempty"`

	// diskType is the type of the boot disk, such as pd-balanced. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DiskType *string `json:"diskType,omitempty"`

	// diskSizeGb is the size of the boot disk in GB. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DiskSizeGB *int32 `json:"diskSizeGb,omitempty"`

	// localSsdCount is the number of local SSDs. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LocalSSDCount *int32 `json:"localSsdCount,omitempty"`

	// oauthScopes are the scopes of the nodes' credentials. It cannot be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	OAuthScopes []string `json:"oauthScopes,omitzero"`

	// preemptible says whether the nodes are preemptible. It cannot be changed.
	// +optional
	Preemptible *bool `json:"preemptible,omitempty"`

	// tags are network tags of the nodes. It cannot be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Tags []string `json:"tags,omitzero"`

	// taints are taints of the Nodes. A list that is set is all there is. It cannot be
	// changed.
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

	// effect of the taint.
	// +required
	// +kubebuilder:validation:Enum=NO_SCHEDULE;PREFER_NO_SCHEDULE;NO_EXECUTE
	Effect string `json:"effect,omitempty"`

	// value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value *string `json:"value,omitempty"`
}
