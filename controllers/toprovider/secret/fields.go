package secret

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

var secretFields = field.Decisions{
	"TypeMeta":   field.Drop("typed clients fill it in"),
	"ObjectMeta": field.Change(field.OfMetadata),
	"StringData": field.Drop("the API server turns it into Data, and never returns it"),
}.And(field.Send(), "Data", "Type", "Immutable")

var secretPlan = field.PlanFor[corev1.Secret](secretFields)
