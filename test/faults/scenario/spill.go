package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/test/faults/world"
)

// The team's tiers are P1, and P2 after a second. Nobody schedules pods in a consumer: the steps do.
var oneSecond = &metav1.Duration{Duration: time.Second}

// Whatever happens to the manager, a pod gets the second tier once, and says so.
var podOverflows = Scenario{
	Name: "pod-overflows", Prepare: inTiers(nil),
	Steps: []Step{{
		Name: "a pod is created, and the scheduler finds no room in the first tier",
		Do: func(ctx context.Context, w *world.World) error {
			if err := w.Create(ctx, ofReplicaSet(web, "")); err != nil {
				return err
			}
			return unschedulable(ctx, w, web)
		},
		Until: all(podTolerates(web, world.P1, world.P2), opened(web, "1=")),
	}, {
		Name:  "the scheduler places it in the second tier",
		Do:    schedule(web, world.P2),
		Until: all(podIs(corev1.PodRunning, team, web, world.P2), costs(web, spill.DeletionCost(1))),
	}},
}

// Whatever happens to the manager, a pod for which its provider has no room is replaced once, and its successor goes
// elsewhere. In the end, the team wants no more of that, because the end of a back-off would be one more write.
var podGivenUp = Scenario{
	Name: "pod-given-up", Prepare: inTiers(func(spec *v1alpha1.NamespaceOffloadingSpec) {
		spec.Unschedulable = &v1alpha1.Unschedulable{After: oneSecond}
	}),
	Steps: []Step{{
		Name: "a pod goes to the first tier, where the provider's scheduler finds no node for it",
		Do: func(ctx context.Context, w *world.World) error {
			pod := ofReplicaSet(web, world.P1)
			pod.Labels = map[string]string{world.LabelNoRoom: world.P1}
			return w.Create(ctx, pod)
		},
		Until: all(podGone(team, web, world.P1), full(world.P1)),
	}, {
		Name: "its ReplicaSet creates another one",
		Do: all(soon(newPodsTolerate()), func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, ofReplicaSet(second, ""))
		}),
		Until: all(podTolerates(second, world.P2), opened(second, "1=")),
	}, {
		Name:  "the scheduler places it in the second tier",
		Do:    schedule(second, world.P2),
		Until: podIs(corev1.PodRunning, team, second, world.P2),
	}, {
		Name:  "the team wants that no more pods are replaced",
		Do:    changeOffloading(func(spec *v1alpha1.NamespaceOffloadingSpec) { spec.Unschedulable = nil }),
		Until: full(),
	}},
}

// Whatever happens to the manager, a pod returns once. In the end, the team wants no more returns, because the condition
// about them would change a minute later.
var podReturns = Scenario{
	Name: "pod-returns", Prepare: returning, Patience: 2 * time.Minute, // A refused eviction is tried again a minute later.
	Steps: []Step{{
		Name:  "the team wants its pods back from the second tier",
		Do:    changeOffloading(func(spec *v1alpha1.NamespaceOffloadingSpec) { spec.Return = &v1alpha1.ReturnPolicy{After: oneSecond} }),
		Until: podGone(team, web, world.P2),
	}, {
		Name: "its ReplicaSet creates another one, which is placed in the first tier",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, ofReplicaSet(second, world.P1))
		},
		Until: podIs(corev1.PodRunning, team, second, world.P1),
	}, {
		Name:  "the team wants no more returns",
		Do:    changeOffloading(func(spec *v1alpha1.NamespaceOffloadingSpec) { spec.Return = nil }),
		Until: noReturns,
	}},
}

// inTiers binds both providers and offloads the team's namespace to them in tiers. It waits until new pods get what is in
// the first one.
func inTiers(with func(*v1alpha1.NamespaceOffloadingSpec)) Func {
	return func(ctx context.Context, w *world.World) error {
		err := w.Bind(ctx, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.VirtualNode.Labels = map[string]v1alpha1.LabelValue{"region": v1alpha1.LabelValue(cb.Name)}
		}, world.P1, world.P2)
		if err != nil {
			return err
		}
		nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1alpha1.OffloadingName}}
		nso.Spec.PodOffloadingStrategy = v1alpha1.PodsRemote
		nso.Spec.Overflow = []v1alpha1.OverflowTier{{ClusterSelector: tier(world.P1)}, {ClusterSelector: tier(world.P2), After: oneSecond}}
		if with != nil {
			with(&nso.Spec)
		}
		if err := w.Create(ctx, world.Namespace(team), nso); err != nil {
			return err
		}
		return eventually(ctx, w, all(bound(world.P1, world.P2), offloaded(team, world.P1, world.P2), newPodsTolerate(world.P1)))
	}
}

// returning makes a pod run in the second tier.
func returning(ctx context.Context, w *world.World) error {
	if err := inTiers(nil)(ctx, w); err != nil {
		return err
	}
	if err := w.Create(ctx, ofReplicaSet(web, world.P2)); err != nil {
		return err
	}
	return eventually(ctx, w, podIs(corev1.PodRunning, team, web, world.P2))
}

// tier selects the provider whose virtual node has that region label.
func tier(region string) *v1alpha1.TierSelector {
	return &v1alpha1.TierSelector{NodeSelectorTerms: []v1alpha1.TierSelectorTerm{{
		MatchExpressions: []v1alpha1.ClusterSelectorRequirement{{Key: "region", Operator: corev1.NodeSelectorOpIn, Values: []string{region}}},
	}}}
}

func changeOffloading(by func(*v1alpha1.NamespaceOffloadingSpec)) Func {
	return change(world.Consumer, named(team, v1alpha1.OffloadingName), func(_ *world.World, nso *v1alpha1.NamespaceOffloading) { by(&nso.Spec) })
}

// ofReplicaSet returns a pod of a ReplicaSet that nobody plays, on the virtual node of a provider or without a node.
func ofReplicaSet(name, provider string) *corev1.Pod {
	pod := world.Pod(team, name, provider)
	if provider == "" {
		pod.Spec.NodeName = ""
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", UID: "5e7a11ce-0000-4000-8000-000000000000", Controller: ptr.To(true)}}
	return pod
}

// unschedulable says what the scheduler says about a pod that fits nowhere.
func unschedulable(ctx context.Context, w *world.World, name string) error {
	pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, name)
	if err != nil {
		return err
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available",
		ObservedGeneration: pod.Generation, LastTransitionTime: metav1.Now(),
	})
	return w.Consumer.Admin.Status().Update(ctx, pod)
}

// schedule binds a pod to the virtual node of a provider.
func schedule(name, provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, name)
		if err != nil {
			return err
		}
		return w.Consumer.Admin.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: v1alpha1.VirtualNodePrefix + provider},
		})
	}
}

// newPodsTolerate wants new pods to get the tolerations of those providers. The API server reads a status a moment after it
// was written.
func newPodsTolerate(providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		pod := ofReplicaSet("none", "")
		if err := w.Consumer.Admin.Create(ctx, pod, client.DryRunAll); err != nil {
			return fmt.Errorf("asking what a new pod gets: %w", err)
		}
		return wrap("a new pod", same("what it tolerates", tolerated(pod), fmt.Sprint(providers)))
	}
}

// podTolerates wants a pod to have the tolerations of those providers.
func podTolerates(name string, providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, name)
		if err != nil {
			return err
		}
		return wrap("pod "+name, same("what it tolerates", tolerated(pod), fmt.Sprint(providers)))
	}
}

func tolerated(pod *corev1.Pod) string {
	var ids []string
	for _, t := range pod.Spec.Tolerations {
		if t.Key == v1alpha1.TaintVirtualNode {
			ids = append(ids, t.Value)
		}
	}
	slices.Sort(ids)
	return fmt.Sprint(ids)
}

// opened wants the annotation of a pod to say which tiers were opened for it.
func opened(name, begins string) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, name)
		if err != nil {
			return err
		}
		says := pod.Annotations[v1alpha1.AnnotationOverflow]
		return wrap("pod "+name, same("that "+says+" begins with "+begins, strings.HasPrefix(says, begins), true))
	}
}

func costs(name string, cost int) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, name)
		if err != nil {
			return err
		}
		return wrap("pod "+name, same("its deletion cost", pod.Annotations[corev1.PodDeletionCost], fmt.Sprint(cost)))
	}
}

// full wants the offloading to say that these providers are left out, and no others.
func full(providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		nso, err := get[v1alpha1.NamespaceOffloading](ctx, w, world.Consumer, team, v1alpha1.OffloadingName)
		if err != nil {
			return err
		}
		var left []string
		for _, f := range nso.Status.Full {
			if f.Until != nil {
				left = append(left, f.Cluster)
			}
		}
		return wrap("the NamespaceOffloading", same("the providers that are left out", fmt.Sprint(left), fmt.Sprint(providers)),
			same("the observed generation", nso.Status.ObservedGeneration, nso.Generation),
			same("whether it says so", meta.IsStatusConditionTrue(nso.Status.Conditions, v1alpha1.OffloadingFull), len(providers) > 0))
	}
}

// noReturns wants the offloading to say nothing about returns.
func noReturns(ctx context.Context, w *world.World) error {
	nso, err := get[v1alpha1.NamespaceOffloading](ctx, w, world.Consumer, team, v1alpha1.OffloadingName)
	if err != nil {
		return err
	}
	return wrap("the NamespaceOffloading", same("whether it has a last return", nso.Status.LastReturn != nil, false),
		same("the observed generation", nso.Status.ObservedGeneration, nso.Generation),
		same("whether it reports returns", meta.FindStatusCondition(nso.Status.Conditions, v1alpha1.OffloadingReturns) != nil, false))
}
