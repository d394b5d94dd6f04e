package persistentvolumeclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

var persistentVolumeClaimSpecFields = field.Decisions{
	"VolumeName":                field.Change("the remote volume"),
	"StorageClassName":          field.Change("never nil, lest the provider's default class is filled in"),
	"Selector":                  field.Drop("the volume is named"),
	"VolumeAttributesClassName": field.Drop(field.ConsumerOnly),
}.And(field.Send(), "AccessModes", "Resources", "VolumeMode").
	And(field.Drop("the volume is filled already"), "DataSource", "DataSourceRef")

var persistentVolumeClaimPlan = field.PlanFor[corev1.PersistentVolumeClaimSpec](persistentVolumeClaimSpecFields)
