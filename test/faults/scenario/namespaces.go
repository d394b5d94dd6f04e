package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

var offload = Scenario{
	Name: "offload", Core: true, Prepare: bind(world.P1),
	Steps: []Step{{
		Name:  "a team offloads its namespace",
		Do:    func(ctx context.Context, w *world.World) error { return w.Offload(ctx, team) },
		Until: offloaded(team, world.P1),
	}},
}

var unOffload = Scenario{
	Name: "un-offload", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name:  "the offloading is deleted, with a pod in the provider",
		Do:    deleteLocal(&v1alpha1.NamespaceOffloading{}, team, v1alpha1.OffloadingName),
		Until: all(notOffloaded(team, world.P1), podGone(team, web, world.P1)),
	}},
}

var labelled = Scenario{
	Name: "offload-by-label", Prepare: bind(world.P1),
	Steps: []Step{{
		Name: "a namespace with the label is made",
		Do: func(ctx context.Context, w *world.World) error {
			namespace := world.Namespace(team)
			namespace.Labels = map[string]string{v1alpha1.LabelOffload: v1alpha1.OffloadTrue}
			return w.Create(ctx, namespace)
		},
		Until: offloaded(team, world.P1),
	}, {
		Name: "the label is taken off",
		Do: change(world.Consumer, named("", team), func(_ *world.World, namespace *corev1.Namespace) {
			delete(namespace.Labels, v1alpha1.LabelOffload)
		}),
		Until: notOffloaded(team, world.P1),
	}},
}

// A namespace that leaves one provider leaves it in the same order as one that is no longer offloaded at all.
var moved = Scenario{
	Name: "selector-moves-a-namespace",
	Prepare: func(ctx context.Context, w *world.World) error {
		region := func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.VirtualNode.Labels = map[string]v1alpha1.LabelValue{"region": v1alpha1.LabelValue(cb.Name)}
		}
		if err := w.Bind(ctx, region, world.P1, world.P2); err != nil {
			return err
		}
		offloading := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{ClusterSelector: in(world.P1)}}
		offloading.Namespace, offloading.Name = team, v1alpha1.OffloadingName
		if err := w.Create(ctx, world.Namespace(team), offloading); err != nil {
			return err
		}
		if err := eventually(ctx, w, all(bound(world.P1, world.P2), offloaded(team, world.P1))); err != nil {
			return err
		}
		if err := createPod(world.P1)(ctx, w); err != nil {
			return err
		}
		return eventually(ctx, w, podCreated.Until)
	},
	Steps: []Step{{
		Name: "the selector selects another provider, with a pod in the first",
		Do: change(world.Consumer, named(team, v1alpha1.OffloadingName), func(_ *world.World, nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.ClusterSelector = in(world.P2)
		}),
		Until: all(offloaded(team, world.P2), podGone(team, web, world.P1), notMapped(team, world.P1), nothingMarked(world.P1)),
	}},
}

// in selects the provider whose virtual node has that region label.
func in(region string) *v1alpha1.ClusterSelector {
	return &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{
		MatchExpressions: []v1alpha1.ClusterSelectorRequirement{{Key: "region", Operator: corev1.NodeSelectorOpIn, Values: []string{region}}},
	}}}
}

var namespaceDeleted = Scenario{
	Name: "namespace-deleted", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name: "the local namespace is deleted, with a pod in the provider",
		Do:   deleteLocal(&corev1.Namespace{}, "", team),
		Until: all(gone[corev1.Namespace](world.Consumer, named("", team)),
			gone[corev1.Namespace](world.P1, remoteNamespace(team)), notMapped(team, world.P1), nothingMarked(world.P1)),
	}},
}
