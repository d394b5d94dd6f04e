package v1alpha1

// EKSConfig is the configuration of a cluster in Amazon EKS. Spillway manages only the fields that
// are set.
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

	// kubernetesVersion is the minor version of the control plane, such as 1.33. You can only raise
	// it, by one minor version at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`

	// ipFamily of pods and Services: ipv4 or ipv6. It cannot be changed.
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

	// subnets are the IDs of the control plane's subnets, in at least two zones. They cannot be
	// changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	Subnets []string `json:"subnets,omitzero"`

	// securityGroups are the IDs of the control plane's security groups. They cannot be changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	SecurityGroups []string `json:"securityGroups,omitzero"`

	// serviceRole is the name or ARN of the control plane's IAM role. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ServiceRole *string `json:"serviceRole,omitempty"`

	// publicAccess says whether the API server has a public endpoint.
	// +optional
	PublicAccess *bool `json:"publicAccess,omitempty"`

	// privateAccess says whether the API server has an endpoint in the VPC. The cluster needs
	// publicAccess or privateAccess.
	// +optional
	PrivateAccess *bool `json:"privateAccess,omitempty"`

	// publicAccessSources are the CIDRs that may reach the public endpoint. The list must not be
	// empty, because EKS treats an empty list as 0.0.0.0/0.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=43
	PublicAccessSources []string `json:"publicAccessSources,omitzero"`

	// tags are AWS tags of the cluster. Spillway keeps keys that are not listed. The value null
	// deletes a key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Tags map[string]*string `json:"tags,omitzero"`

	// loggingTypes are the logs that the control plane sends to CloudWatch: api, audit,
	// authenticator, controllerManager, scheduler.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	LoggingTypes []string `json:"loggingTypes,omitzero"`

	// ebsCSIDriver says whether the add-on aws-ebs-csi-driver is installed.
	// +optional
	EBSCSIDriver *bool `json:"ebsCSIDriver,omitempty"`

	// ebsCSIDriverRole is the ARN of the IAM role that the add-on aws-ebs-csi-driver uses. The
	// cluster needs the add-on. The empty string removes the role: then the add-on uses the role of
	// the nodes, or its EKS Pod Identity.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	EBSCSIDriverRole *string `json:"ebsCSIDriverRole,omitempty"`

	// nodeGroups are the managed node groups that Spillway manages. spec.nodePoolPolicy says what
	// happens to others.
	// +optional
	// +listType=map
	// +listMapKey=nodegroupName
	// +kubebuilder:validation:MaxItems=100
	NodeGroups []EKSNodeGroup `json:"nodeGroups,omitzero"`
}

// EKSNodeGroup is a managed node group. Spillway manages only the fields that are set.
type EKSNodeGroup struct {
	// nodegroupName is the name of the group in its cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	NodegroupName string `json:"nodegroupName,omitempty"`

	// version is the minor version of the nodes, such as 1.33. It must not be higher than the
	// control plane's version.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Version *string `json:"version,omitempty"`

	// desiredSize is the number of nodes, from minSize to maxSize. If an autoscaler changes it, leave
	// it unset, or set the tag k8s.io/cluster-autoscaler/enabled to "true" in tags: then it is not
	// compared.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DesiredSize *int32 `json:"desiredSize,omitempty"`

	// minSize is the smallest number of nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinSize *int32 `json:"minSize,omitempty"`

	// maxSize is the largest number of nodes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxSize *int32 `json:"maxSize,omitempty"`

	// labels are labels of the Nodes. Spillway keeps keys that are not listed. The value null
	// deletes a key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]*string `json:"labels,omitzero"`

	// tags are AWS tags of the group. Spillway keeps keys that are not listed. The value null
	// deletes a key.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Tags map[string]*string `json:"tags,omitzero"`

	// launchTemplate is an EC2 launch template of your own. If it is unset, Spillway creates a
	// template for a new group that sets any of imageId, diskSize, instanceType, ec2SshKey,
	// userData and resourceTags. This field does not show that template, which Spillway deletes
	// after the group. A group keeps its template: EKS cannot replace it by another one, or add one
	// to a group without a template.
	// +optional
	LaunchTemplate *EKSLaunchTemplate `json:"launchTemplate,omitempty"`

	// imageId is the AMI of the nodes, instead of the AMI that EKS chooses. A change creates a new
	// version of the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImageID *string `json:"imageId,omitempty"`

	// diskSize is the size of the root volume in GiB. A change creates a new version of the launch
	// template.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DiskSize *int32 `json:"diskSize,omitempty"`

	// instanceType is the EC2 instance type, such as m7i.large. A change creates a new version of
	// the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType *string `json:"instanceType,omitempty"`

	// ec2SshKey is the name of the EC2 key pair for SSH. A change creates a new version of the
	// launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	EC2SSHKey *string `json:"ec2SshKey,omitempty"`

	// userData is a script or configuration that new nodes run when they start. It is MIME
	// multi-part text; if imageId is set, other formats are allowed. A change creates a new version
	// of the launch template.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	UserData *string `json:"userData,omitempty"`

	// resourceTags are AWS tags of the instances and volumes. Spillway keeps keys that are not
	// listed. The value null deletes a key. A change creates a new version of the launch template.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	ResourceTags map[string]*string `json:"resourceTags,omitzero"`

	// gpu says whether the nodes use an AMI for GPUs. It cannot be changed.
	// +optional
	GPU *bool `json:"gpu,omitempty"`

	// arm says whether the nodes use an AMI for arm64. It cannot be changed.
	// +optional
	ARM *bool `json:"arm,omitempty"`

	// subnets are the IDs of the nodes' subnets. They cannot be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	Subnets []string `json:"subnets,omitzero"`

	// nodeRole is the ARN of the nodes' IAM role. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	NodeRole *string `json:"nodeRole,omitempty"`

	// requestSpotInstances says whether the nodes are spot instances. It cannot be changed.
	// +optional
	RequestSpotInstances *bool `json:"requestSpotInstances,omitempty"`

	// spotInstanceTypes are the instance types that spot instances may have. They cannot be
	// changed.
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
