package translate

import policyv1 "k8s.io/api/policy/v1"

var disruptionBudgetSpecFields = decisions{
	"MinAvailable":               change("a number, what is left of the whole budget: remote pods have no controller with a scale"),
	"MaxUnavailable":             drop("is in minAvailable"),
	"Selector":                   send(),
	"UnhealthyPodEvictionPolicy": send(),
}

var disruptionBudgetSpecPlan = planFor[policyv1.PodDisruptionBudgetSpec](disruptionBudgetSpecFields)
