package accept

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

const (
	asRequirement   = "it becomes a requirement of the labelSelector: releases of Kubernetes differ in whether a key may be in both"
	topologyThere   = "spillway.io/host becomes kubernetes.io/hostname; a constraint or term over a label that no node of the provider has is left out"
	selectsByLabels = "with the pod's own values of the keys that the pod names apart"
)

// TopologySpreadConstraintFields are the decisions about the fields of a topology spread constraint.
var TopologySpreadConstraintFields = field.Decisions{
	"TopologyKey":      field.Change(topologyThere),
	"LabelSelector":    field.Change(selectsByLabels),
	"MatchLabelKeys":   field.Drop(asRequirement),
	"NodeTaintsPolicy": field.Change("Honor if it is not set: the pod's owner does not know the nodes that the provider keeps for others"),
}.And(field.Send(), "MaxSkew", "WhenUnsatisfiable", "MinDomains", "NodeAffinityPolicy")

// PodAffinityTermFields are the decisions about the fields of a term of pod affinity or anti-affinity.
var PodAffinityTermFields = field.Decisions{
	"TopologyKey":       field.Change(topologyThere),
	"LabelSelector":     field.Change(selectsByLabels + ", and with a label that only the consumer's own pods have"),
	"Namespaces":        field.Change("the names of their remote namespaces; without those that are not in the provider"),
	"NamespaceSelector": field.Drop("the namespaces that it selects in the consumer are named instead: others set the labels of namespaces there"),
}.And(field.Drop(asRequirement), "MatchLabelKeys", "MismatchLabelKeys")

// The plans carry out the decisions above.
var (
	TopologySpreadConstraintPlan = field.PlanFor[corev1.TopologySpreadConstraint](TopologySpreadConstraintFields)
	PodAffinityTermPlan          = field.PlanFor[corev1.PodAffinityTerm](PodAffinityTermFields)
)
