package networkpolicy

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/internal/field"
)

var networkPolicySpecFields = field.Decisions{
	"Ingress":     field.Change("rule by rule; a rule is left out if none of its peers is in the provider"),
	"Egress":      field.Change("rule by rule; a rule is left out if none of its peers is in the provider"),
	"PolicyTypes": field.Change("never empty: the default depends on egress rules, which may have been left out"),
	"PodSelector": field.Change("with the aliases of labels"),
}

var networkPolicyIngressRuleFields = field.Decisions{
	"From": field.Change("peer by peer; a peer that selects nothing in the provider is left out"),
}.And(field.Send(), "Ports")

var networkPolicyEgressRuleFields = field.Decisions{
	"To": field.Change("peer by peer; a peer that selects nothing in the provider is left out"),
}.And(field.Send(), "Ports")

var networkPolicyPeerFields = field.Decisions{
	"NamespaceSelector": field.Change("the names of namespaces in the provider"),
	"PodSelector":       field.Change("with the aliases of labels"),
	"IPBlock":           field.Send(),
}

// Ports and ipBlocks are sent whole.
var (
	networkPolicyPortFields = field.Decisions{}.And(field.Send(), "Protocol", "Port", "EndPort")
	ipBlockFields           = field.Decisions{}.And(field.Send(), "CIDR", "Except")
)

var (
	networkPolicySpecPlan        = field.PlanFor[networkingv1.NetworkPolicySpec](networkPolicySpecFields)
	networkPolicyIngressRulePlan = field.PlanFor[networkingv1.NetworkPolicyIngressRule](networkPolicyIngressRuleFields)
	networkPolicyEgressRulePlan  = field.PlanFor[networkingv1.NetworkPolicyEgressRule](networkPolicyEgressRuleFields)
	networkPolicyPeerPlan        = field.PlanFor[networkingv1.NetworkPolicyPeer](networkPolicyPeerFields)
)
