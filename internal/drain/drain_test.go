package drain

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func plan(action Action, reason, message string) Plan {
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonDrained {
		status = metav1.ConditionTrue
	}
	return Plan{Action: action, Drained: metav1.Condition{Type: v1alpha1.BindingDrained, Status: status, Reason: reason, Message: message}}
}

func (p Plan) retry(after time.Duration) Plan {
	p.RetryAfter = after
	return p
}

func (p Plan) leaves(names ...string) Plan {
	p.LeftBehind = names
	return p
}

func TestDecide(t *testing.T) {
	binding := func() *builder.BindingBuilder { return builder.Binding("eu").Pinned("uid").Deleted(0) }
	two := builder.Map("eu").Accepted("a", "ra").Desired("b", "rb").Obj()
	many := builder.Map("eu")
	for i := range 7 {
		many.Accepted(fmt.Sprintf("a%d", i), fmt.Sprintf("r%d", i))
	}
	deleteMap := plan(DeleteNamespaceMap, v1alpha1.ReasonDeletingNamespaceMap, "the NamespaceMap is deleted")
	const waits = "the deletion waits for the provider, to delete 2 remote namespaces (ra, rb) there: no route to host"
	tests := map[string]struct {
		snapshot Snapshot
		want     Plan
	}{
		"a duplicate, whatever there is": {
			Snapshot{Binding: binding().Obj(), Duplicate: true, NodeExists: true, PodsLeft: 1, NamespaceMap: two, Connected: true},
			plan(RemoveFinalizer, v1alpha1.ReasonDrained, "the ClusterBinding did not hold its clusterID, so nothing was made for it")},
		"cordon first": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, PodsLeft: 3, NamespaceMap: two, Connected: true},
			plan(Cordon, v1alpha1.ReasonCordoning, "the virtual node is made unschedulable")},
		"then the pods": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, NodeCordoned: true, PodsLeft: 3, NamespaceMap: two, Connected: true},
			plan(Wait, v1alpha1.ReasonEvictingPods, "3 pods are being evicted from the virtual node")},
		"the pods, though the node is gone": {
			Snapshot{Binding: binding().Obj(), PodsLeft: 3, NamespaceMap: two, Connected: true},
			plan(Wait, v1alpha1.ReasonEvictingPods, "3 pods are being evicted from the virtual node")},
		"the pods, though they are to be orphaned": {
			Snapshot{Binding: binding().Orphan().Obj(), NodeExists: true, NodeCordoned: true, PodsLeft: 1, NamespaceMap: two},
			plan(Wait, v1alpha1.ReasonEvictingPods, "1 pods are being evicted from the virtual node")},
		"then the remote namespaces, those there and those asked for": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, NodeCordoned: true, NamespaceMap: two, Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "2 remote namespaces are being deleted (ra, rb)")},
		"of many, the first are named": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: many.Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "7 remote namespaces are being deleted (r0, r1, r2, r3, r4, and 2 more)")},
		"one that could not be made is not there": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Current("a", "ra", v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict, "x").Obj(), Connected: true},
			deleteMap},
		"one that could not be made, but is asked for, may be there soon": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Desired("a", "ra").Current("a", "ra", v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict, "x").Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespaces are being deleted (ra)")},
		"one that is going is still there": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Current("a", "ra", v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "x").Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespaces are being deleted (ra)")},
		"an empty map that has not been looked at proves nothing": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Unobserved().Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "0 remote namespaces are being deleted")},
		"none is left": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, NodeCordoned: true, NamespaceMap: builder.Map("eu").Obj(), Connected: true}, deleteMap},
		"none is left, and the provider does not answer": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Obj()}, deleteMap},
		"the provider does not answer: for ever": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: two, Unreachable: "no route to host"},
			plan(Wait, v1alpha1.ReasonProviderUnreachable, waits)},
		"the provider does not answer: until the time is up": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NamespaceMap: two, Unreachable: "no route to host", Now: builder.Epoch.Add(20 * time.Second)},
			plan(Wait, v1alpha1.ReasonProviderUnreachable, waits).retry(40 * time.Second)},
		"the time is up": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NamespaceMap: two, Unreachable: "no route to host", Now: builder.Epoch.Add(time.Minute)},
			deleteMap.leaves("ra", "rb")},
		"the time is up, but the provider answers": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NamespaceMap: two, Connected: true, Now: builder.Epoch.Add(time.Hour)},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "2 remote namespaces are being deleted (ra, rb)")},
		"paused, at any step": {
			Snapshot{Binding: binding().Paused().DeletionTimeout(time.Minute).Obj(), NodeExists: true, PodsLeft: 1, NamespaceMap: two, Connected: true, Now: builder.Epoch.Add(time.Hour)},
			plan(Wait, v1alpha1.ReasonPaused, "spec.paused is set: the deletion goes on when it is not")},
		"paused, and a duplicate: nothing is there to be kept": {
			Snapshot{Binding: binding().Paused().Obj(), Duplicate: true},
			plan(RemoveFinalizer, v1alpha1.ReasonDrained, "the ClusterBinding did not hold its clusterID, so nothing was made for it")},
		"never connected": {
			Snapshot{Binding: builder.Binding("eu").Deleted(0).Obj(), NamespaceMap: two, Unreachable: "no route to host"}, deleteMap},
		"identified, but never usable": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Desired("a", "ra").Untouched().Obj(), Unreachable: "no route to host"}, deleteMap},
		"not looked at yet, but usable": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Desired("a", "ra").Untouched().Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespaces are being deleted (ra)")},
		"orphaned": {
			Snapshot{Binding: binding().Orphan().Obj(), NodeExists: true, NodeCordoned: true, NamespaceMap: two, Connected: true}, deleteMap.leaves("ra", "rb")},
		"orphaned, and the provider does not answer": {
			Snapshot{Binding: binding().Orphan().Obj(), NamespaceMap: two}, deleteMap.leaves("ra", "rb")},
		"then the node": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, NodeCordoned: true},
			plan(DeleteNode, v1alpha1.ReasonDeletingNode, "the virtual node and its lease are deleted")},
		"nothing is left": {
			Snapshot{Binding: binding().Obj()}, plan(RemoveFinalizer, v1alpha1.ReasonDrained, "nothing is left")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Decide(test.snapshot)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// world is what the steps work on, and what other controllers do meanwhile.
type world struct {
	Snapshot
	gone  bool
	steps []string
}

// pass is one reconcile; what it did may be lost with the process, or happen
// though the process does not live to see it.
func (w *world) pass(happens bool) {
	plan := Decide(w.Snapshot)
	w.steps = append(w.steps, plan.Drained.Reason)
	if !happens {
		return
	}
	switch plan.Action {
	case Cordon:
		w.NodeCordoned = true
	case DeleteNamespaceMap:
		w.NamespaceMap = nil
	case DeleteNode:
		w.NodeExists, w.NodeCordoned = false, false
	case RemoveFinalizer:
		w.gone = true
	case Wait:
		w.others(plan.Drained.Reason)
	}
}

// others do what is waited for: one thing at a time, and only when it is its turn.
func (w *world) others(reason string) {
	switch reason {
	case v1alpha1.ReasonEvictingPods:
		w.PodsLeft--
	case v1alpha1.ReasonProviderUnreachable:
		w.Connected = true
	case v1alpha1.ReasonDeletingNamespaces:
		nsm := w.NamespaceMap
		switch {
		case len(nsm.Spec.DesiredMapping) > 0: // The mapping controller empties the spec,
			nsm.Spec.DesiredMapping = nil
			nsm.Generation++
		case len(nsm.Status.CurrentMapping) > 0: // and the namespacemap controller deletes one after another.
			nsm.Status.CurrentMapping = nsm.Status.CurrentMapping[1:]
			nsm.Status.ObservedGeneration = nsm.Generation
		default:
			nsm.Status.ObservedGeneration = nsm.Generation
		}
	}
}

func TestEveryStepIsTakenInOrder(t *testing.T) {
	bound := func() *world {
		return &world{Snapshot: Snapshot{
			Binding: builder.Binding("eu").Pinned("uid").Deleted(0).Obj(), NodeExists: true, PodsLeft: 2,
			NamespaceMap: builder.Map("eu").Accepted("a", "ra").Accepted("b", "rb").Obj(), Now: builder.Epoch,
		}}
	}
	order := []string{v1alpha1.ReasonCordoning, v1alpha1.ReasonEvictingPods, v1alpha1.ReasonProviderUnreachable, v1alpha1.ReasonDeletingNamespaces,
		v1alpha1.ReasonDeletingNamespaceMap, v1alpha1.ReasonDeletingNode, v1alpha1.ReasonDrained}
	whole := bound()
	for i := 0; !whole.gone && i < 100; i++ {
		whole.pass(true)
	}
	passes := len(whole.steps)
	// Lost at the pass of that number, its action is done or not: -1 is never.
	for lost := -1; lost < passes; lost++ {
		w := bound()
		for i := 0; !w.gone && i < 100; i++ {
			w.pass(i != lost)
		}
		if !w.gone || w.NodeExists || w.NamespaceMap != nil || w.PodsLeft != 0 {
			t.Fatalf("lost at %d: it ends in %+v", lost, w.Snapshot)
		}
		var steps []string
		for _, step := range w.steps {
			if len(steps) == 0 || steps[len(steps)-1] != step {
				steps = append(steps, step)
			}
		}
		if diff := cmp.Diff(order, steps); diff != "" {
			t.Errorf("lost at %d: other steps (-want +got)\n%s", lost, diff)
		}
	}
}
