package translate

import corev1 "k8s.io/api/core/v1"

const (
	onNodes   = "it lies on a node"
	inCloud   = "the disk belongs to the consumer's cloud; use a PersistentVolumeClaim with a CSI driver that the provider has as well"
	unplugged = "Kubernetes can mount it no more, or only with plugins on the nodes; use a CSI driver"
)

var volumeFields = decisions{
	"Name":         send(),
	"VolumeSource": change("see volumeSourceFields"),
}

var volumeSourceFields = decisions{
	"ConfigMap":             change("names"),
	"Secret":                change("names"),
	"Projected":             change("see volumeProjectionFields"),
	"DownwardAPI":           change("see fieldReferences"),
	"PersistentVolumeClaim": change("names"),
	"Ephemeral":             change("it becomes a persistentVolumeClaim: the claim was made in the consumer"),
	"CSI":                   change("the name in nodePublishSecretRef"),
	"ISCSI":                 change("the name in secretRef"),

	"EmptyDir": send(),
	"Image":    send(),
	"NFS":      send(),
	"FC":       send(),

	"HostPath": privileged("the pod would see the files of a node of the provider"),

	"GitRepo":              refuse(ReasonVolumeNotPortable, unplugged),
	"FlexVolume":           refuse(ReasonVolumeNotPortable, unplugged),
	"Flocker":              refuse(ReasonVolumeNotPortable, unplugged),
	"Glusterfs":            refuse(ReasonVolumeNotPortable, unplugged),
	"RBD":                  refuse(ReasonVolumeNotPortable, unplugged),
	"CephFS":               refuse(ReasonVolumeNotPortable, unplugged),
	"Quobyte":              refuse(ReasonVolumeNotPortable, unplugged),
	"ScaleIO":              refuse(ReasonVolumeNotPortable, unplugged),
	"StorageOS":            refuse(ReasonVolumeNotPortable, unplugged),
	"PhotonPersistentDisk": refuse(ReasonVolumeNotPortable, unplugged),
	"PortworxVolume":       refuse(ReasonVolumeNotPortable, unplugged),

	"AWSElasticBlockStore": refuse(ReasonVolumeNotPortable, inCloud),
	"GCEPersistentDisk":    refuse(ReasonVolumeNotPortable, inCloud),
	"AzureDisk":            refuse(ReasonVolumeNotPortable, inCloud),
	"AzureFile":            refuse(ReasonVolumeNotPortable, inCloud),
	"Cinder":               refuse(ReasonVolumeNotPortable, inCloud),
	"VsphereVolume":        refuse(ReasonVolumeNotPortable, inCloud),
}

var volumeProjectionFields = decisions{
	"ConfigMap":   change("names"),
	"Secret":      change("names"),
	"DownwardAPI": change("see fieldReferences"),

	"ServiceAccountToken": refuse(ReasonCredentials, "tokens of the consumer are not sent"),
	"PodCertificate":      refuse(ReasonCredentials, "the certificate would be one of the consumer's signers"),
	"ClusterTrustBundle":  refuse(ReasonVolumeNotPortable, consumerOnly),
}

// persistentVolumeSourceFields: a volume that is reached over a network, with only what
// is in the volume itself, can be reached from another cluster.
var persistentVolumeSourceFields = decisions{
	"CSI":   change("Secrets"),
	"ISCSI": change("the Secret"),
	"NFS":   send(),
	"FC":    send(),

	"HostPath": refuse(ReasonVolumeNotPortable, onNodes),
	"Local":    refuse(ReasonVolumeNotPortable, onNodes),

	"FlexVolume":           refuse(ReasonVolumeNotPortable, unplugged),
	"Flocker":              refuse(ReasonVolumeNotPortable, unplugged),
	"Glusterfs":            refuse(ReasonVolumeNotPortable, unplugged),
	"RBD":                  refuse(ReasonVolumeNotPortable, unplugged),
	"CephFS":               refuse(ReasonVolumeNotPortable, unplugged),
	"Quobyte":              refuse(ReasonVolumeNotPortable, unplugged),
	"ScaleIO":              refuse(ReasonVolumeNotPortable, unplugged),
	"StorageOS":            refuse(ReasonVolumeNotPortable, unplugged),
	"PhotonPersistentDisk": refuse(ReasonVolumeNotPortable, unplugged),
	"PortworxVolume":       refuse(ReasonVolumeNotPortable, unplugged),

	"AWSElasticBlockStore": refuse(ReasonVolumeNotPortable, inCloud),
	"GCEPersistentDisk":    refuse(ReasonVolumeNotPortable, inCloud),
	"AzureDisk":            refuse(ReasonVolumeNotPortable, inCloud),
	"AzureFile":            refuse(ReasonVolumeNotPortable, inCloud),
	"Cinder":               refuse(ReasonVolumeNotPortable, inCloud),
	"VsphereVolume":        refuse(ReasonVolumeNotPortable, inCloud),
}

var (
	volumePlan                 = planFor[corev1.Volume](volumeFields)
	volumeSourcePlan           = planFor[corev1.VolumeSource](volumeSourceFields)
	volumeProjectionPlan       = planFor[corev1.VolumeProjection](volumeProjectionFields)
	persistentVolumeSourcePlan = planFor[corev1.PersistentVolumeSource](persistentVolumeSourceFields)
)
