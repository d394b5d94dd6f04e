package v1alpha1

// AKSConfig is the configuration of a cluster in Azure Kubernetes Service. What is not
// set is not managed.
type AKSConfig struct {
	// resourceGroup is the resource group of the cluster. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=90
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// clusterName is the name of the cluster in its resource group. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterName string `json:"clusterName,omitempty"`

	// resourceLocation is the Azure region, such as westeurope. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ResourceLocation string `json:"resourceLocation,omitempty"`

	// kubernetesVersion is the version of the control plane: 1.33.2, or 1.33 for any patch
	// of it. It goes up, one minor version at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`

	// tags are Azure tags of the cluster. Keys that are not listed are kept; null deletes
	// one.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Tags map[string]*string `json:"tags,omitzero"`

	// authorizedIpRanges are the CIDRs that reach the API server; empty: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	// +kubebuilder:validation:items:MaxLength=43
	AuthorizedIPRanges []string `json:"authorizedIpRanges,omitzero"`

	// httpApplicationRouting says whether the add-on httpApplicationRouting is enabled.
	// +optional
	HTTPApplicationRouting *bool `json:"httpApplicationRouting,omitempty"`

	// monitoring says whether the add-on omsAgent is enabled.
	// +optional
	Monitoring *bool `json:"monitoring,omitempty"`

	// logAnalyticsWorkspaceGroup is the resource group of the Log Analytics workspace of the
	// add-on omsAgent.
	// +optional
	// +kubebuilder:validation:MaxLength=90
	LogAnalyticsWorkspaceGroup *string `json:"logAnalyticsWorkspaceGroup,omitempty"`

	// logAnalyticsWorkspaceName is the Log Analytics workspace of the add-on omsAgent.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	LogAnalyticsWorkspaceName *string `json:"logAnalyticsWorkspaceName,omitempty"`

	// networkPlugin is azure, kubenet or none. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	NetworkPlugin *string `json:"networkPlugin,omitempty"`

	// networkPolicy is azure, calico or cilium. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	NetworkPolicy *string `json:"networkPolicy,omitempty"`

	// virtualNetwork is the virtual network of the nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	VirtualNetwork *string `json:"virtualNetwork,omitempty"`

	// virtualNetworkResourceGroup is the resource group of the virtual network. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=90
	VirtualNetworkResourceGroup *string `json:"virtualNetworkResourceGroup,omitempty"`

	// subnet is the subnet of the nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Subnet *string `json:"subnet,omitempty"`

	// dnsPrefix is the first part of the name of the API server. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=54
	DNSPrefix *string `json:"dnsPrefix,omitempty"`

	// dnsServiceIp is the address of the cluster's DNS, in serviceCidr. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	DNSServiceIP *string `json:"dnsServiceIp,omitempty"`

	// serviceCidr is the range of Services. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	ServiceCIDR *string `json:"serviceCidr,omitempty"`

	// podCidr is the range of Pods. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	PodCIDR *string `json:"podCidr,omitempty"`

	// outboundType is loadBalancer, userDefinedRouting, managedNATGateway or
	// userAssignedNATGateway. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	OutboundType *string `json:"outboundType,omitempty"`

	// loadBalancerSku is standard or basic. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LoadBalancerSKU *string `json:"loadBalancerSku,omitempty"`

	// nodeResourceGroup is the resource group that AKS makes for the nodes. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=90
	NodeResourceGroup *string `json:"nodeResourceGroup,omitempty"`

	// linuxAdminUsername is the user for SSH on Linux nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LinuxAdminUsername *string `json:"linuxAdminUsername,omitempty"`

	// sshPublicKey is the key for SSH on Linux nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	SSHPublicKey *string `json:"sshPublicKey,omitempty"`

	// privateCluster says whether the API server has a private address only. It cannot be
	// changed.
	// +optional
	PrivateCluster *bool `json:"privateCluster,omitempty"`

	// privateDnsZone is system, none, or the ID of a private DNS zone. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PrivateDNSZone *string `json:"privateDnsZone,omitempty"`

	// managedIdentity says whether the cluster has a managed identity. It cannot be changed.
	// +optional
	ManagedIdentity *bool `json:"managedIdentity,omitempty"`

	// userAssignedIdentity is the ID of the managed identity, if it is not one that AKS
	// makes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	UserAssignedIdentity *string `json:"userAssignedIdentity,omitempty"`

	// nodePools are node pools. What happens to others is up to spec.nodePoolPolicy.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodePools []AKSNodePool `json:"nodePools,omitzero"`
}

// AKSNodePool is a node pool. What is not set is not managed.
type AKSNodePool struct {
	// name names the pool in its cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=12
	Name string `json:"name,omitempty"`

	// count is the number of nodes. It is neither compared nor sent while the pool scales
	// itself.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count *int32 `json:"count,omitempty"`

	// minCount is the least number of nodes, while the pool scales itself.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinCount *int32 `json:"minCount,omitempty"`

	// maxCount is the largest number of nodes, while the pool scales itself.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxCount *int32 `json:"maxCount,omitempty"`

	// enableAutoScaling says whether the pool scales itself.
	// +optional
	EnableAutoScaling *bool `json:"enableAutoScaling,omitempty"`

	// orchestratorVersion is the version of the nodes: 1.33.2, or 1.33 for any patch of it;
	// not above that of the control plane.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	OrchestratorVersion *string `json:"orchestratorVersion,omitempty"`

	// nodeLabels are labels of the Nodes. Keys that are not listed are kept; null deletes
	// one.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeLabels map[string]*string `json:"nodeLabels,omitzero"`

	// nodeTaints are taints of the Nodes, as key=value:effect. A list that is set is all
	// there is.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=350
	NodeTaints []string `json:"nodeTaints,omitzero"`

	// maxSurge is how many nodes an upgrade adds: a number, or a percentage such as 33%.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	MaxSurge *string `json:"maxSurge,omitempty"`

	// mode is System or User. A cluster needs one pool that is System.
	// +optional
	// +kubebuilder:validation:Enum=System;User;Gateway
	Mode *string `json:"mode,omitempty"`

	// maxPods is how many pods a node can have. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPods *int32 `json:"maxPods,omitempty"`

	// vmSize is the size of the virtual machines, such as Standard_D4s_v5. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	VMSize *string `json:"vmSize,omitempty"`

	// osDiskSizeGB is the size of the OS disk in GB; 0: as the size of the machines has it.
	// It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OSDiskSizeGB *int32 `json:"osDiskSizeGB,omitempty"`

	// osDiskType is Managed or Ephemeral. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	OSDiskType *string `json:"osDiskType,omitempty"`

	// osType is Linux or Windows. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	OSType *string `json:"osType,omitempty"`

	// vnetSubnetID is the ID of the subnet of the nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	VnetSubnetID *string `json:"vnetSubnetID,omitempty"`

	// availabilityZones are the zones of the nodes. It cannot be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=16
	AvailabilityZones []string `json:"availabilityZones,omitzero"`
}
