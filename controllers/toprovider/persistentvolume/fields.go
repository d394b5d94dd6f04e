package persistentvolume

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// persistentVolumeSourceFields: another cluster can reach a volume if the volume is on a network, and
// itself has all that is needed to reach it.
var persistentVolumeSourceFields = field.Decisions{
	"CSI":   field.Change("Secrets"),
	"ISCSI": field.Change("the Secret"),
}.And(field.Send(), "NFS", "FC").
	And(field.Deny(field.ReasonVolumeNotPortable, field.OnNodes), "HostPath", "Local").
	And(field.Deny(field.ReasonVolumeNotPortable, field.Unplugged), "FlexVolume", "Flocker", "Glusterfs", "RBD", "CephFS", "Quobyte", "ScaleIO",
		"StorageOS", "PhotonPersistentDisk", "PortworxVolume").
	And(field.Deny(field.ReasonVolumeNotPortable, field.InCloud), "AWSElasticBlockStore", "GCEPersistentDisk", "AzureDisk", "AzureFile", "Cinder",
		"VsphereVolume")

var persistentVolumeSourcePlan = field.PlanFor[corev1.PersistentVolumeSource](persistentVolumeSourceFields)

var persistentVolumeSpecFields = field.Decisions{
	"PersistentVolumeSource": field.Change("by its type: network volumes are sent, all others are refused"),
	"ClaimRef":               field.Change("the remote claim"),
	"StorageClassName":       field.Change("the claim's"),
	"PersistentVolumeReclaimPolicy": field.Change(
		"always Retain: the volume is the consumer's, whatever happens in the provider"),
	"NodeAffinity": field.Change(
		"sent as it is: it says from where the storage can be reached, in words of the storage driver, which means the same " +
			"elsewhere; a pod that cannot reach it shall stay unscheduled rather than hang in mounting. " +
			"A volume that is bound to a node by its name is refused"),
	"VolumeAttributesClassName": field.Drop(field.ConsumerOnly),
}.And(field.Send(), "Capacity", "AccessModes", "MountOptions", "VolumeMode")

var (
	persistentVolumePlan = field.PlanFor[corev1.PersistentVolumeSpec](persistentVolumeSpecFields)
)
