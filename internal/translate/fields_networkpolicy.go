package translate

import networkingv1 "k8s.io/api/networking/v1"

var networkPolicySpecFields = decisions{
	"Ingress":     change("see networkPolicyIngressRuleFields"),
	"Egress":      change("see networkPolicyEgressRuleFields"),
	"PolicyTypes": change("never empty: the default depends on egress rules, which may have been left out"),
}.and(send(), "PodSelector")

var networkPolicyIngressRuleFields = decisions{
	"From": change("see networkPolicyPeerFields"),
}.and(send(), "Ports")

var networkPolicyEgressRuleFields = decisions{
	"To": change("see networkPolicyPeerFields"),
}.and(send(), "Ports")

var networkPolicyPeerFields = decisions{
	"NamespaceSelector": change("the names of namespaces in the provider"),
}.and(send(), "PodSelector", "IPBlock")

// Ports and ipBlocks are sent whole.
var (
	networkPolicyPortFields = decisions{}.and(send(), "Protocol", "Port", "EndPort")
	ipBlockFields           = decisions{}.and(send(), "CIDR", "Except")
)

var (
	networkPolicySpecPlan        = planFor[networkingv1.NetworkPolicySpec](networkPolicySpecFields)
	networkPolicyIngressRulePlan = planFor[networkingv1.NetworkPolicyIngressRule](networkPolicyIngressRuleFields)
	networkPolicyEgressRulePlan  = planFor[networkingv1.NetworkPolicyEgressRule](networkPolicyEgressRuleFields)
	networkPolicyPeerPlan        = planFor[networkingv1.NetworkPolicyPeer](networkPolicyPeerFields)
)
