package poddisruptionbudget

import (
	policyv1 "k8s.io/api/policy/v1"

	"github.com/spillway-io/spillway/internal/field"
)

var disruptionBudgetSpecFields = field.Decisions{
	"MinAvailable":               field.Change("a number, what is left of the whole budget: remote pods have no controller with a scale"),
	"MaxUnavailable":             field.Drop("is in minAvailable"),
	"Selector":                   field.Change("with the aliases of labels"),
	"UnhealthyPodEvictionPolicy": field.Send(),
}

var disruptionBudgetSpecPlan = field.PlanFor[policyv1.PodDisruptionBudgetSpec](disruptionBudgetSpecFields)
