package samples

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// networkPolicy is a NetworkPolicy that lets some pods of its namespace in.
func networkPolicy(namespace, name, _ string) Sample[*networkingv1.NetworkPolicy] {
	pods := func(name string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{app: name}}
	}
	rule := func(from string, port int32) networkingv1.NetworkPolicyIngressRule {
		return networkingv1.NetworkPolicyIngressRule{
			From:  []networkingv1.NetworkPolicyPeer{{PodSelector: ptr.To(pods(from))}},
			Ports: []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(port))}},
		}
	}
	return Sample[*networkingv1.NetworkPolicy]{
		Object: &networkingv1.NetworkPolicy{ObjectMeta: meta(namespace, name), Spec: networkingv1.NetworkPolicySpec{
			PodSelector: pods("created"), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{rule("web", 80), rule("metrics", 9090)},
		}},
		Shows: func(p *networkingv1.NetworkPolicy) string {
			text := fmt.Sprint(p.Labels[label], p.Spec.PodSelector.MatchLabels, p.Spec.PolicyTypes)
			for _, rule := range p.Spec.Ingress {
				text += fmt.Sprint(rule.From[0].PodSelector.MatchLabels, rule.Ports[0].Port)
			}
			return text
		},
		Change: func(local *networkingv1.NetworkPolicy) {
			local.Labels[label], local.Spec.PodSelector, local.Spec.Ingress[0] = "changed", pods("changed"), rule("api", 8080)
		},
		Drift: func(remote *networkingv1.NetworkPolicy) {
			remote.Spec.PodSelector, remote.Spec.Ingress = pods("drifted"), remote.Spec.Ingress[1:]
		},
		Hostile: func(remote *networkingv1.NetworkPolicy, word string) {
			hostileMeta(remote, word)
			remote.Spec.PodSelector = metav1.LabelSelector{MatchLabels: map[string]string{"example.com/hostile": word}}
			remote.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{rule(word, 1)}
		},
	}
}
