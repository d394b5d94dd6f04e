package translate

import corev1 "k8s.io/api/core/v1"

const (
	onNodes   = "it is on a node"
	inCloud   = "the disk belongs to the consumer's cloud; use a PersistentVolumeClaim with a CSI driver that the provider has too"
	unplugged = "Kubernetes no longer mounts it, or only with plugins on nodes; use a CSI driver"
)

var volumeFields = decisions{
	"VolumeSource": change("see volumeSourceFields"),
}.and(send(), "Name")

var volumeSourceFields = decisions{
	"Projected":   change("see volumeProjectionFields"),
	"DownwardAPI": change("see fieldReferences"),
	"Ephemeral":   change("it becomes a persistentVolumeClaim: the claim was made in the consumer"),
	"CSI":         change("the name in nodePublishSecretRef"),
	"ISCSI":       change("the name in secretRef"),
	"HostPath":    privileged("the pod would see the files of a node of the provider"),
}.and(change("names"), "ConfigMap", "Secret", "PersistentVolumeClaim").
	and(send(), "EmptyDir", "Image", "NFS", "FC").
	and(refuse(ReasonVolumeNotPortable, unplugged), "GitRepo", "FlexVolume", "Flocker", "Glusterfs", "RBD", "CephFS", "Quobyte", "ScaleIO",
		"StorageOS", "PhotonPersistentDisk", "PortworxVolume").
	and(refuse(ReasonVolumeNotPortable, inCloud), "AWSElasticBlockStore", "GCEPersistentDisk", "AzureDisk", "AzureFile", "Cinder",
		"VsphereVolume")

var volumeProjectionFields = decisions{
	"DownwardAPI":         change("see fieldReferences"),
	"ServiceAccountToken": refuse(ReasonCredentials, "tokens of the consumer are not sent"),
	"PodCertificate":      refuse(ReasonCredentials, "the certificate would come from the consumer's signers"),
	"ClusterTrustBundle":  refuse(ReasonVolumeNotPortable, consumerOnly),
}.and(change("names"), "ConfigMap", "Secret")

// persistentVolumeSourceFields: another cluster can reach a volume if the volume is on a network, and
// itself has all that is needed to reach it.
var persistentVolumeSourceFields = decisions{
	"CSI":   change("Secrets"),
	"ISCSI": change("the Secret"),
}.and(send(), "NFS", "FC").
	and(refuse(ReasonVolumeNotPortable, onNodes), "HostPath", "Local").
	and(refuse(ReasonVolumeNotPortable, unplugged), "FlexVolume", "Flocker", "Glusterfs", "RBD", "CephFS", "Quobyte", "ScaleIO",
		"StorageOS", "PhotonPersistentDisk", "PortworxVolume").
	and(refuse(ReasonVolumeNotPortable, inCloud), "AWSElasticBlockStore", "GCEPersistentDisk", "AzureDisk", "AzureFile", "Cinder",
		"VsphereVolume")

var (
	volumePlan                 = planFor[corev1.Volume](volumeFields)
	volumeSourcePlan           = planFor[corev1.VolumeSource](volumeSourceFields)
	volumeProjectionPlan       = planFor[corev1.VolumeProjection](volumeProjectionFields)
	persistentVolumeSourcePlan = planFor[corev1.PersistentVolumeSource](persistentVolumeSourceFields)
)
