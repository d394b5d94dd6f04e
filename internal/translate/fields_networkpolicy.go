package translate

import networkingv1 "k8s.io/api/networking/v1"

var networkPolicySpecFields = decisions{
	"PodSelector": send(),
	"Ingress":     change("see networkPolicyIngressRuleFields"),
	"Egress":      change("see networkPolicyEgressRuleFields"),
	"PolicyTypes": change("never empty: the default depends on egress rules, which may have been left out"),
}

var networkPolicyIngressRuleFields = decisions{
	"Ports": send(),
	"From":  change("see networkPolicyPeerFields"),
}

var networkPolicyEgressRuleFields = decisions{
	"Ports": send(),
	"To":    change("see networkPolicyPeerFields"),
}

var networkPolicyPeerFields = decisions{
	"PodSelector":       send(),
	"NamespaceSelector": change("the names of namespaces in the provider"),
	"IPBlock":           send(),
}

// Ports and ipBlocks are sent whole.
var (
	networkPolicyPortFields = decisions{
		"Protocol": send(),
		"Port":     send(),
		"EndPort":  send(),
	}
	ipBlockFields = decisions{
		"CIDR":   send(),
		"Except": send(),
	}
)

var (
	networkPolicySpecPlan        = planFor[networkingv1.NetworkPolicySpec](networkPolicySpecFields)
	networkPolicyIngressRulePlan = planFor[networkingv1.NetworkPolicyIngressRule](networkPolicyIngressRuleFields)
	networkPolicyEgressRulePlan  = planFor[networkingv1.NetworkPolicyEgressRule](networkPolicyEgressRuleFields)
	networkPolicyPeerPlan        = planFor[networkingv1.NetworkPolicyPeer](networkPolicyPeerFields)
)
