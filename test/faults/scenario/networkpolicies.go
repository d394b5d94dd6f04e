package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/requests"
)

// shut is the name of the NetworkPolicy.
const shut = "shut"

// Whatever happens to the manager, the copy allows exactly the traffic that the policy allows from namespaces
// that are offloaded.
var policyLife = Scenario{
	Name: "networkpolicy-created-changed-deleted", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name: "a NetworkPolicy is created that lets in its own namespace and one that is not offloaded",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, policy(team, metav1.NamespaceDefault, team))
		},
		Until: policyAllows(world.P1, remoteTeam),
	}, {
		Name: "it lets in only the one that is not offloaded",
		Do: change(world.Consumer, named(team, shut), func(_ *world.World, local *networkingv1.NetworkPolicy) {
			local.Spec = policy(team, metav1.NamespaceDefault).Spec
		}),
		Until: policyAllows(world.P1),
	}, {
		Name:  "it is deleted",
		Do:    deleteLocal(&networkingv1.NetworkPolicy{}, team, shut),
		Until: all(gone[networkingv1.NetworkPolicy](world.Consumer, named(team, shut)), gone[networkingv1.NetworkPolicy](world.P1, remotely(team, shut))),
	}},
}

// docs/applications.md: a new pod waits for the policies that select it. Running pods are not affected.
var policyFirst = Scenario{
	Name: "pod-waits-for-networkpolicy", Prepare: all(withPod(world.P1), note(world.P1, remotely(team, web)), func(ctx context.Context, w *world.World) error {
		theirs := policy(w.Remote(team))
		theirs.Labels = labelsOfStranger()
		return w.CreateIn(ctx, world.P1, theirs)
	}),
	Steps: []Step{{
		Name: "a NetworkPolicy is created whose name is taken, and a pod that it selects",
		Do: func(ctx context.Context, w *world.World) error {
			if err := w.Create(ctx, policy(team)); err != nil {
				return err
			}
			if err := eventually(ctx, w, asked(world.P1, requests.Create, "networkpolicies", shut)); err != nil {
				return err
			}
			return w.Create(ctx, world.Pod(team, second, world.P1))
		},
		Until: all(podStaysHome(team, second, v1alpha1.ReasonNetworkPolicyPending), noted(world.P1, remotely(team, web)),
			untouched[networkingv1.NetworkPolicy](remotely(team, shut))),
	}, {
		Name:  "somebody deletes what is in the way",
		Do:    deleteIn(world.P1, &networkingv1.NetworkPolicy{}, remotely(team, shut)),
		Until: all(policyAllows(world.P1), podIs(corev1.PodRunning, team, second, world.P1), noted(world.P1, remotely(team, web))),
	}},
}

// policy lets only pods of these namespaces reach the pods of its own namespace.
func policy(namespace string, from ...string) *networkingv1.NetworkPolicy {
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: shut},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}},
	}
	for _, name := range from {
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}},
		}}})
	}
	return policy
}

// remoteTeam is the name of the team's remote namespace.
func remoteTeam(w *world.World) string { return w.Remote(team) }

// policyAllows wants the copy of the policy to allow exactly these namespaces of the provider, each in its
// own rule. The policy itself must be unchanged.
func policyAllows(provider string, from ...func(*world.World) string) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[networkingv1.NetworkPolicy](ctx, w, world.Consumer, team, shut)
		if err != nil {
			return err
		}
		remote, err := get[networkingv1.NetworkPolicy](ctx, w, provider, w.Remote(team), shut)
		if err != nil {
			return err
		}
		if err := unmarked[networkingv1.NetworkPolicy](team, shut)(ctx, w); err != nil {
			return err
		}
		errs := []error{
			same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: provider}.IsOn(remote), true),
			same("what it stands for", provenance.LocalOf(remote), provenance.Local{Namespace: team, Name: shut, UID: local.UID}),
			same("that it stays", remote.DeletionTimestamp.IsZero(), true),
			same("how many rules it has", len(remote.Spec.Ingress), len(from)),
		}
		for i := range min(len(from), len(remote.Spec.Ingress)) {
			named := remote.Spec.Ingress[i].From[0].NamespaceSelector.MatchExpressions[0]
			errs = append(errs, same("whom it lets in", named.Key+"="+named.Values[0], corev1.LabelMetadataName+"="+from[i](w)))
		}
		return wrap("the copy of NetworkPolicy "+shut, errs...)
	}
}
