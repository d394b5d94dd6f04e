package networkpolicy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// TestKind: an offloading calls the kind as its default list does.
func TestKind(t *testing.T) {
	policies, spec := Kind(), v1alpha1.NamespaceOffloadingSpec{}
	if !spec.Sends(policies.Resource) {
		t.Error("not sent by default")
	}
}

// TestPeers: only what selects by namespaces is decided on again when they change.
func TestPeers(t *testing.T) {
	byPods := []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}, {IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}}}
	byNamespace := []networkingv1.NetworkPolicyPeer{byPods[0], {NamespaceSelector: &metav1.LabelSelector{}}}
	for name, test := range map[string]struct {
		spec networkingv1.NetworkPolicySpec
		want bool
	}{
		"nobody":          {networkingv1.NetworkPolicySpec{}, false},
		"everybody":       {networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{}}, Egress: []networkingv1.NetworkPolicyEgressRule{{}}}, false},
		"from pods":       {networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: byPods}}}, false},
		"to pods":         {networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{To: byPods}}}, false},
		"from namespaces": {networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: byPods}, {From: byNamespace}}}, true},
		"to namespaces":   {networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{To: byPods}, {To: byNamespace}}}, true},
	} {
		policies := Kind()
		if got := policies.NamesNamespaces(&networkingv1.NetworkPolicy{Spec: test.spec}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestKeeps: a copy goes when its owner keeps the policy at home, and for no other reason.
func TestKeeps(t *testing.T) {
	for reason, want := range map[string]bool{
		field.ReasonSelectorNotSent: true, field.ReasonPolicyTooLarge: true, field.ReasonSyncNever: false,
	} {
		if got := (translation{}).Keeps(&field.Problem{Reason: reason}); got != want {
			t.Errorf("%s: %t, want %t", reason, got, want)
		}
	}
}

// TestNotice: the owner of a policy is told what the remote one lacks, and nothing else.
func TestNotice(t *testing.T) {
	remote := &networkingv1.NetworkPolicy{}
	if got := (translation{}).Notice(nil, remote, decide.Inputs{}); got != nil {
		t.Errorf("got %v", got)
	}
	remote.Annotations = map[string]string{v1alpha1.AnnotationLeftOut: "this"}
	want := &field.Problem{Reason: field.ReasonPolicyNarrowed, Message: "this"}
	if diff := cmp.Diff(want, translation{}.Notice(nil, remote, decide.Inputs{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
