package persistentvolumeclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
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

// providedFields are for claims whose volumes the provider creates.
var providedFields = field.Decisions{
	"VolumeName":                field.Drop("the provider chooses the volume"),
	"StorageClassName":          field.Change("the provider's class, to which spec.classes of the ClusterBinding maps"),
	"VolumeAttributesClassName": field.Change("the provider's class, as for StorageClassName"),
}.And(field.Send(), "AccessModes", "Resources", "VolumeMode").
	And(field.Deny(v1alpha1.ReasonDataSourceNotSent, "a volume that the provider creates begins empty, and Spillway does not choose among existing ones"), "DataSource", "DataSourceRef", "Selector")

var providedPlan = field.PlanFor[corev1.PersistentVolumeClaimSpec](providedFields)
