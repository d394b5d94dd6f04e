package accept

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

const fieldsOfPod = "the pod's own name, namespace, UID, labels and annotations keep their values of the consumer"

// VolumeFields are the decisions about the fields of a volume.
var VolumeFields = field.Decisions{
	"VolumeSource": field.Change("by its type: sent, sent with the names of copies, or refused"),
}.And(field.Send(), "Name")

// VolumeSourceFields are the decisions about the fields of the source of a volume.
var VolumeSourceFields = field.Decisions{
	"Projected":   field.Change("each source by its type: ConfigMaps, Secrets and fields of the pod are sent, tokens and certificates are refused"),
	"DownwardAPI": field.Change(fieldsOfPod),
	"Ephemeral":   field.Change("it becomes a persistentVolumeClaim: the claim was made in the consumer"),
	"CSI":         field.Change("the name in nodePublishSecretRef"),
	"ISCSI":       field.Change("the name in secretRef"),
	"HostPath":    field.Privileged("the pod would see the files of a node of the provider"),
}.And(field.Change(remoteNames), "ConfigMap", "Secret", "PersistentVolumeClaim").
	And(field.Send(), "EmptyDir", "Image", "NFS", "FC").
	And(field.Deny(field.ReasonVolumeNotPortable, field.Unplugged), "GitRepo", "FlexVolume", "Flocker", "Glusterfs", "RBD", "CephFS", "Quobyte", "ScaleIO",
		"StorageOS", "PhotonPersistentDisk", "PortworxVolume").
	And(field.Deny(field.ReasonVolumeNotPortable, field.InCloud), "AWSElasticBlockStore", "GCEPersistentDisk", "AzureDisk", "AzureFile", "Cinder",
		"VsphereVolume")

// VolumeProjectionFields are the decisions about the fields of a part of a projected volume.
var VolumeProjectionFields = field.Decisions{
	"DownwardAPI":         field.Change(fieldsOfPod),
	"ServiceAccountToken": field.Deny(field.ReasonCredentials, "tokens of the consumer are not sent"),
	"PodCertificate":      field.Deny(field.ReasonCredentials, "the certificate would come from the consumer's signers"),
	"ClusterTrustBundle":  field.Deny(field.ReasonVolumeNotPortable, field.ConsumerOnly),
}.And(field.Change(remoteNames), "ConfigMap", "Secret")

// The plans carry out the decisions above.
var (
	VolumePlan           = field.PlanFor[corev1.Volume](VolumeFields)
	VolumeSourcePlan     = field.PlanFor[corev1.VolumeSource](VolumeSourceFields)
	volumeProjectionPlan = field.PlanFor[corev1.VolumeProjection](VolumeProjectionFields)
)
