package translate

import corev1 "k8s.io/api/core/v1"

var configMapFields = decisions{
	"TypeMeta":   drop("typed clients fill it in"),
	"ObjectMeta": change("see Metadata"),
}.and(send(), "Data", "BinaryData", "Immutable")

var secretFields = decisions{
	"TypeMeta":   drop("typed clients fill it in"),
	"ObjectMeta": change("see Metadata"),
	"StringData": drop("the API server turns it into Data, and never returns it"),
}.and(send(), "Data", "Type", "Immutable")

var persistentVolumeClaimSpecFields = decisions{
	"VolumeName":                change("the remote volume"),
	"StorageClassName":          change("never nil, lest the provider's default class is filled in"),
	"Selector":                  drop("the volume is named"),
	"VolumeAttributesClassName": drop(consumerOnly),
}.and(send(), "AccessModes", "Resources", "VolumeMode").
	and(drop("the volume is filled already"), "DataSource", "DataSourceRef")

var persistentVolumeSpecFields = decisions{
	"PersistentVolumeSource": change("see persistentVolumeSourceFields"),
	"ClaimRef":               change("the remote claim"),
	"StorageClassName":       change("the claim's"),
	"PersistentVolumeReclaimPolicy": change(
		"always Retain: the volume is the consumer's, whatever happens in the provider"),
	"NodeAffinity": change(
		"sent as it is: it says from where the storage can be reached, in words of the storage driver, which means the same " +
			"elsewhere; a pod that cannot reach it shall stay unscheduled rather than hang in mounting. " +
			"A volume that is bound to a node by its name is refused"),
	"VolumeAttributesClassName": drop(consumerOnly),
}.and(send(), "Capacity", "AccessModes", "MountOptions", "VolumeMode")

var (
	configMapPlan             = planFor[corev1.ConfigMap](configMapFields)
	secretPlan                = planFor[corev1.Secret](secretFields)
	persistentVolumeClaimPlan = planFor[corev1.PersistentVolumeClaimSpec](persistentVolumeClaimSpecFields)
	persistentVolumePlan      = planFor[corev1.PersistentVolumeSpec](persistentVolumeSpecFields)
)
