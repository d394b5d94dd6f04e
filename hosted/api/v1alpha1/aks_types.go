package v1alpha1

// AKSConfig is the configuration of a cluster in Azure Kubernetes Service. Spillway manages only
// the fields that are set.
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

	// kubernetesVersion is the version of the control plane: 1.33.2, or 1.33 for any of its patch
	// versions. You can only raise it, by one minor version at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`

	// tags are Azure tags of the cluster. Spillway keeps keys that are not listed. The value null
	// deletes a key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Tags map[string]*string `json:"tags,omitzero"`

	// authorizedIpRanges are the CIDRs that may reach the API server. An empty list allows all
	// addresses.
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

	// networkPlugin is the network plugin: azure, kubenet or none. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	NetworkPlugin *string `json:"networkPlugin,omitempty"`

	// networkPolicy is the network policy engine: azure, calico or cilium. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	NetworkPolicy *string `json:"networkPolicy,omitempty"`

	// virtualNetwork is the name of the nodes' virtual network. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	VirtualNetwork *string `json:"virtualNetwork,omitempty"`

	// virtualNetworkResourceGroup is the resource group of the virtual network. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=90
	VirtualNetworkResourceGroup *string `json:"virtualNetworkResourceGroup,omitempty"`

	// subnet is the name of the nodes' subnet. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Subnet *string `json:"subnet,omitempty"`

	// dnsPrefix is the first part of the API server's host name. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=54
	DNSPrefix *string `json:"dnsPrefix,omitempty"`

	// dnsServiceIp is the address of the cluster's DNS Service. It must be in serviceCidr. It
	// cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	DNSServiceIP *string `json:"dnsServiceIp,omitempty"`

	// serviceCidr is the address range of Services. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	ServiceCIDR *string `json:"serviceCidr,omitempty"`

	// podCidr is the address range of pods. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	PodCIDR *string `json:"podCidr,omitempty"`

	// outboundType says how the nodes reach the internet: loadBalancer, userDefinedRouting,
	// managedNATGateway or userAssignedNATGateway. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	OutboundType *string `json:"outboundType,omitempty"`

	// loadBalancerSku is the SKU of the load balancer: standard or basic. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	LoadBalancerSKU *string `json:"loadBalancerSku,omitempty"`

	// nodeResourceGroup is the resource group that AKS creates for the nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=90
	NodeResourceGroup *string `json:"nodeResourceGroup,omitempty"`

	// linuxAdminUsername is the user name for SSH on Linux nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LinuxAdminUsername *string `json:"linuxAdminUsername,omitempty"`

	// sshPublicKey is the public key for SSH on Linux nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	SSHPublicKey *string `json:"sshPublicKey,omitempty"`

	// privateCluster says whether the API server has only a private address. It cannot be changed.
	// +optional
	PrivateCluster *bool `json:"privateCluster,omitempty"`

	// privateDnsZone is system, none, or the ID of a private DNS zone. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	PrivateDNSZone *string `json:"privateDnsZone,omitempty"`

	// managedIdentity says whether the cluster has a managed identity. It cannot be changed.
	// +optional
	ManagedIdentity *bool `json:"managedIdentity,omitempty"`

	// userAssignedIdentity is the ID of your own managed identity, which the cluster uses instead
	// of one that AKS creates. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	UserAssignedIdentity *string `json:"userAssignedIdentity,omitempty"`

	// nodePools are the node pools that Spillway manages. spec.nodePoolPolicy says what happens to
	// others.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodePools []AKSNodePool `json:"nodePools,omitzero"`
}

// AKSNodePool is a node pool. Spillway manages only the fields that are set.
type AKSNodePool struct {
	// name of the pool in its cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=12
	Name string `json:"name,omitempty"`

	// count is the number of nodes. While the pool scales itself, Spillway neither compares nor
	// sends it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Count *int32 `json:"count,omitempty"`

	// minCount is the smallest number of nodes while the pool scales itself.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinCount *int32 `json:"minCount,omitempty"`

	// maxCount is the largest number of nodes while the pool scales itself.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxCount *int32 `json:"maxCount,omitempty"`

	// enableAutoScaling says whether the pool scales itself.
	// +optional
	EnableAutoScaling *bool `json:"enableAutoScaling,omitempty"`

	// orchestratorVersion is the version of the nodes: 1.33.2, or 1.33 for any of its patch
	// versions. It must not be higher than the control plane's version.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	OrchestratorVersion *string `json:"orchestratorVersion,omitempty"`

	// nodeLabels are labels of the Nodes. Spillway keeps keys that are not listed. The value null
	// deletes a key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeLabels map[string]*string `json:"nodeLabels,omitzero"`

	// nodeTaints are taints of the Nodes, as key=value:effect. If the list is set, Spillway removes
	// all other taints of the pool.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=350
	NodeTaints []string `json:"nodeTaints,omitzero"`

	// maxSurge is how many nodes an upgrade adds at a time: a number, or a percentage such as 33%.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	MaxSurge *string `json:"maxSurge,omitempty"`

	// mode is System, User or Gateway. A cluster needs at least one pool with the mode System.
	// +optional
	// +kubebuilder:validation:Enum=System;User;Gateway
	Mode *string `json:"mode,omitempty"`

	// maxPods is the maximum number of pods on a node. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPods *int32 `json:"maxPods,omitempty"`

	// vmSize is the size of the virtual machines, such as Standard_D4s_v5. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	VMSize *string `json:"vmSize,omitempty"`

	// osDiskSizeGB is the size of the OS disk in GB. With 0, vmSize determines the size. It cannot
	// be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OSDiskSizeGB *int32 `json:"osDiskSizeGB,omitempty"`

	// osDiskType is the type of the OS disk: Managed or Ephemeral. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	OSDiskType *string `json:"osDiskType,omitempty"`

	// osType is the operating system: Linux or Windows. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	OSType *string `json:"osType,omitempty"`

	// vnetSubnetID is the ID of the nodes' subnet. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	VnetSubnetID *string `json:"vnetSubnetID,omitempty"`

	// availabilityZones are the zones of the nodes. They cannot be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=16
	AvailabilityZones []string `json:"availabilityZones,omitzero"`
}
