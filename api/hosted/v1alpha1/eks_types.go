package v1alpha1

// EKSConfig is the configuration of a cluster in Amazon EKS. What is not set is not
// managed.
type EKSConfig struct {
	// displayName is the name of the cluster in EKS. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	DisplayName string `json:"displayName,omitempty"`

	// region is the AWS region, such as eu-central-1. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region,omitempty"`

	// kubernetesVersion is the minor version of the control plane, such as 1.33. It goes up,
	// one minor version at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`

	// ipFamily of Pods and Services: ipv4 or ipv6. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Enum=ipv4;ipv6
	IPFamily *string `json:"ipFamily,omitempty"`

	// secretsEncryption says whether kmsKey encrypts Secrets. It cannot be changed.
	// +optional
	SecretsEncryption *bool `json:"secretsEncryption,omitempty"`

	// kmsKey is the ARN of the KMS key that encrypts Secrets. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	KMSKey *string `json:"kmsKey,omitempty"`

	// subnets are the IDs of the subnets of the control plane, in at least two zones. It
	// cannot be changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	Subnets []string `json:"subnets,omitzero"`

	// securityGroups are the IDs of the security groups of the control plane. It cannot be
	// changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	SecurityGroups []string `json:"securityGroups,omitzero"`

	// serviceRole is the name or ARN of the IAM role of the control plane. It cannot be
	// changed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ServiceRole *string `json:"serviceRole,omitempty"`

	// publicAccess says whether the API server has a public endpoint.
	// +optional
	PublicAccess *bool `json:"publicAccess,omitempty"`

	// privateAccess says whether the API server has an endpoint in the VPC. One of the two
	// must be there.
	// +optional
	PrivateAccess *bool `json:"privateAccess,omitempty"`

	// publicAccessSources are the CIDRs that reach the public endpoint. It must not be empty:
	// EKS takes that as 0.0.0.0/0.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=43
	PublicAccessSources []string `json:"publicAccessSources,omitzero"`

	// tags are AWS tags of the cluster. Keys that are not listed are kept; null deletes one.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Tags map[string]*string `json:"tags,omitzero"`

	// loggingTypes are the logs of the control plane that go to CloudWatch: api, audit,
	// authenticator, controllerManager, scheduler.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	LoggingTypes []string `json:"loggingTypes,omitzero"`

	// ebsCSIDriver says whether the add-on aws-ebs-csi-driver is installed.
	// +optional
	EBSCSIDriver *bool `json:"ebsCSIDriver,omitempty"`

	// nodeGroups are managed node groups. What happens to others is up to
	// spec.nodePoolPolicy.
	// +optional
	// +listType=map
	// +listMapKey=nodegroupName
	// +kubebuilder:validation:MaxItems=100
	NodeGroups []EKSNodeGroup `json:"nodeGroups,omitzero"`
}

// EKSNodeGroup is a managed node group. What is not set is not managed.
type EKSNodeGroup struct {
	// nodegroupName names the group in its cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	NodegroupName string `json:"nodegroupName,omitempty"`

	// version is the minor version of the nodes, such as 1.33; not above that of the control
	// plane.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Version *string `json:"version,omitempty"`

	// desiredSize is the number of nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DesiredSize *int32 `json:"desiredSize,omitempty"`

	// minSize is the least number of nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinSize *int32 `json:"minSize,omitempty"`

	// maxSize is the largest number of nodes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxSize *int32 `json:"maxSize,omitempty"`

	// labels are labels of the Nodes. Keys that are not listed are kept; null deletes one.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]*string `json:"labels,omitzero"`

	// tags are AWS tags of the group. Keys that are not listed are kept; null deletes one.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Tags map[string]*string `json:"tags,omitzero"`

	// launchTemplate is an EC2 launch template of your own. Without it, Spillway makes one for a
	// new group that sets any of imageId, diskSize, instanceType, ec2SshKey, userData and
	// resourceTags. That one is not shown here; it goes with its group. EKS gives a group no
	// other template, and none to a group that was made without one.
	// +optional
	LaunchTemplate *EKSLaunchTemplate `json:"launchTemplate,omitempty"`

	// imageId is the AMI of the nodes, in the place of the one of EKS. A change makes a new version of the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID *string `json:"imageId,omitempty"`

	// diskSize is the size of the root volume in GiB. A change makes a new version of the
	// launch template.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DiskSize *int32 `json:"diskSize,omitempty"`

	// instanceType is the EC2 instance type, such as m7i.large. A change makes a new version
	// of the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType *string `json:"instanceType,omitempty"`

	// ec2SshKey is the name of the EC2 key pair for SSH. A change makes a new version of the
	// launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	EC2SSHKey *string `json:"ec2SshKey,omitempty"`

	// userData is run by new nodes, as MIME multi-part text. A change makes a new version of
	// the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	UserData *string `json:"userData,omitempty"`

	// resourceTags are AWS tags of the instances and volumes. Keys that are not listed are
	// kept; null deletes one. A change makes a new version of the launch template.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	ResourceTags map[string]*string `json:"resourceTags,omitzero"`

	// gpu says whether the AMI is one for GPUs. It cannot be changed.
	// +optional
	GPU *bool `json:"gpu,omitempty"`

	// arm says whether the AMI is one for arm64. It cannot be changed.
	// +optional
	ARM *bool `json:"arm,omitempty"`

	// subnets are the IDs of the subnets of the nodes. It cannot be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	Subnets []string `json:"subnets,omitzero"`

	// nodeRole is the ARN of the IAM role of the nodes. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	NodeRole *string `json:"nodeRole,omitempty"`

	// requestSpotInstances says whether the nodes are spot instances. It cannot be changed.
	// +optional
	RequestSpotInstances *bool `json:"requestSpotInstances,omitempty"`

	// spotInstanceTypes are the instance types of spot instances. It cannot be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	SpotInstanceTypes []string `json:"spotInstanceTypes,omitzero"`
}

// EKSLaunchTemplate names a version of an EC2 launch template.
type EKSLaunchTemplate struct {
	// id of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ID *string `json:"id,omitempty"`

	// name of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Name *string `json:"name,omitempty"`

	// version of the template.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Version *int64 `json:"version,omitempty"`
}
