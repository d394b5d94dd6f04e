package configmap

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

var configMapFields = field.Decisions{
	"TypeMeta":   field.Drop("typed clients fill it in"),
	"ObjectMeta": field.Change(field.OfMetadata),
}.And(field.Send(), "Data", "BinaryData", "Immutable")

var configMapPlan = field.PlanFor[corev1.ConfigMap](configMapFields)
