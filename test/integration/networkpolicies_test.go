package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// test/kinds tests what all kinds have in common, such as that changes follow.
var _ = Describe("The NetworkPolicies of an offloaded namespace", func() {
	// policy selects the pods with a label app, and allows traffic from the peers.
	policy := func(t team, app string, from ...networkingv1.NetworkPolicyPeer) *networkingv1.NetworkPolicy {
		policy := &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("only")},
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			},
		}
		for i := range from {
			policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: from[i : i+1]})
		}
		return policy
	}
	inNamespaces := func(key, value string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
	}
	// letsIn returns the namespaces that a policy in the provider allows, rule by rule.
	letsIn := func(t team, local *networkingv1.NetworkPolicy) func() ([][]string, error) {
		return func() (names [][]string, err error) {
			remote := in(t.remote, local)
			err = eu.fetching(remote)()
			for _, rule := range remote.Spec.Ingress {
				names = append(names, rule.From[0].NamespaceSelector.MatchExpressions[0].Values)
			}
			return names, err
		}
	}

	It("name the namespaces that are there, as these are labelled here, and say what they leave out", func() {
		t, key := newTeam(), unique("example.com/tier")
		local := policy(t, "web", inNamespaces(key, "front"), inNamespaces(key, "back"), inNamespaces(corev1.LabelMetadataName, t.namespace))
		home.make(local)
		Eventually(letsIn(t, local)).Should(Equal([][]string{{t.remote}}))
		t.tells(local, field.ReasonPolicyNarrowed, "spec.ingress[0].from[0]")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
		change(home, namespace, func(ns *corev1.Namespace) { ns.Labels[key] = "front" })
		Eventually(letsIn(t, local)).Should(Equal([][]string{{t.remote}, {t.remote}}))
		change(home, namespace, func(ns *corev1.Namespace) { delete(ns.Labels, key) })
		Eventually(letsIn(t, local)).Should(Equal([][]string{{t.remote}}))
		Expect(now(home, local)()).To(HaveField("ObjectMeta", And(HaveField("Labels", BeEmpty()), HaveField("Annotations", BeEmpty()))), "nothing of ours is on it")
	})

	It("are waited for by the new pods that they select, and by no others", func() {
		t := newTeamWith(eu.lacking("networkpolicies", "list", "watch"))
		Expect(home.condition(t.cb, v1alpha1.BindingLimited)()).To(isTrue(v1alpha1.ReasonRightsMissing, "list and watch networkpolicies"))
		unsent := policy(t, "guarded")
		home.make(unsent)
		t.tells(unsent, v1alpha1.ReasonRightsMissing, "does not let Spillway list and watch networkpolicies")
		t.running()
		guarded := t.run(labelled("app", "guarded"))
		t.staysHome(guarded, v1alpha1.ReasonNetworkPolicyPending, "NetworkPolicy "+t.namespace+"/"+unsent.Name)
		change(home, unsent, func(p *networkingv1.NetworkPolicy) {
			p.Labels = map[string]string{v1alpha1.LabelSync: v1alpha1.SyncNever}
		})
		t.goesOn(guarded)
	})

	It("hold the new pods that a copy still selects which is to go", func() {
		t := newTeam()
		local := policy(t, "guarded")
		home.make(local)
		copied := in(t.remote, local)
		Eventually(eu.fetching(copied)).Should(Succeed())
		change(eu, copied, func(p *networkingv1.NetworkPolicy) { p.Finalizers = []string{"example.com/held"} })
		Expect(home.Delete(ctx, local)).To(Succeed())
		Eventually(now(eu, copied)).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		guarded := t.run(labelled("app", "guarded"))
		t.staysHome(guarded, v1alpha1.ReasonNetworkPolicyPending, "the remote object is not deleted yet")
		change(eu, copied, func(p *networkingv1.NetworkPolicy) { p.Finalizers = nil })
		t.goesOn(guarded)
	})
})
