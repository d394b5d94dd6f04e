package drain

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/provider/connection"
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

func (p Plan) leaves(what string) Plan {
	p.LeftBehind = what
	return p
}

// hangs returns a map with one remote namespace, whose deletion was requested and does not end.
func hangs() *builder.MapBuilder {
	return builder.Map("eu").Current("a", "ra", v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "x")
}

// holding returns that map with a remote namespace that has volumes.
func holding() *builder.MapBuilder {
	return hangs().Current("v", "rv", v1alpha1.MappingTerminating, v1alpha1.ReasonVolumesRemain, "claim data")
}

func with(binding *v1alpha1.ClusterBinding, policy v1alpha1.DeletionPolicy) *v1alpha1.ClusterBinding {
	binding.Spec.DeletionPolicy = policy
	return binding
}

// losing allows the loss of the volumes of a binding.
func losing(binding *v1alpha1.ClusterBinding) *v1alpha1.ClusterBinding {
	metav1.SetMetaDataAnnotation(&binding.ObjectMeta, v1alpha1.AnnotationLoseVolumes, v1alpha1.LoseVolumes)
	return binding
}

func pods3() eviction.Remaining {
	return eviction.Remaining{Count: 3, Names: []string{"team/a", "team/b", "team/c"}}
}

func TestDecide(t *testing.T) {
	binding := func() *builder.BindingBuilder { return builder.Binding("eu").Pinned("uid").Deleted(0) }
	two := builder.Map("eu").Accepted("a", "ra").Desired("b", "rb").Obj()
	many := builder.Map("eu")
	for i := range 7 {
		many.Accepted(fmt.Sprintf("a%d", i), fmt.Sprintf("r%d", i))
	}
	deleteMap := plan(DeleteNamespaceMap, v1alpha1.ReasonDeletingNamespaceMap, "deleting the NamespaceMap")
	const waits = "the deletion waits for the provider, to delete 2 remote namespaces (ra, rb) there: no route to host"
	const left = "remote namespaces left in provider eu: ra, rb"
	const evicting = "3 pods (team/a, team/b, team/c): being evicted from the virtual node"
	blocked := pods3()
	blocked.Refused = []string{"team/b: its budget says no"}
	mounted := func() *builder.BindingBuilder {
		b := binding().Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "")
		return b.MountNamespace("mount")
	}
	recorded := []string{"spillway-eu-1"}
	mayHold := plan(Wait, v1alpha1.ReasonVolumesRemain, "the deletion waits for the provider, which may have the volumes of PersistentVolumes spillway-eu-1: no route to host; "+
		"to leave them there, set spec.deletionPolicy to Orphan, or the annotation spillway.io/lose-volumes=true")
	tests := map[string]struct {
		snapshot Snapshot
		want     Plan
	}{
		"a duplicate, whatever there is": {
			Snapshot{Binding: binding().Obj(), Duplicate: true, NodeExists: true, Pods: pods3(), NamespaceMap: two, Connected: true},
			plan(RemoveFinalizer, v1alpha1.ReasonDrained, "the ClusterBinding did not hold its clusterID, so nothing was created for it")},
		"cordon first": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, Pods: pods3(), NamespaceMap: two, Connected: true},
			plan(Cordon, v1alpha1.ReasonCordoning, "cordoning the virtual node")},
		"a policy of a newer version": {
			Snapshot{Binding: with(binding().Obj(), "Keep"), NodeExists: true, Pods: pods3(), NamespaceMap: two, Connected: true},
			plan(Wait, v1alpha1.ReasonPolicyUnknown, "this manager does not know deletionPolicy Keep: to continue the deletion, set it to Drain or Orphan, or install a manager that knows it")},
		"then the pods": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, NodeCordoned: true, Pods: pods3(), Copies: []string{"Secret team/s"}, NamespaceMap: two, Connected: true},
			plan(Wait, v1alpha1.ReasonEvictingPods, evicting)},
		"pods that may not go": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, NodeCordoned: true, Pods: blocked, NamespaceMap: two, Connected: true},
			plan(Wait, v1alpha1.ReasonEvictionsRefused, evicting+"; the API server refuses to evict team/b: its budget says no")},
		"the pods, though the node is gone": {
			Snapshot{Binding: binding().Obj(), Pods: pods3(), NamespaceMap: two, Connected: true}, plan(Wait, v1alpha1.ReasonEvictingPods, evicting)},
		"the pods, though the map is gone": {
			Snapshot{Binding: binding().Obj(), Pods: pods3(), Connected: true}, plan(Wait, v1alpha1.ReasonEvictingPods, evicting)},
		"the pods, and the provider does not answer": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), Pods: pods3(), NamespaceMap: two, Unreachable: "no route to host", Now: builder.Epoch},
			plan(Wait, v1alpha1.ReasonProviderUnreachable, "the deletion waits for the provider, for 3 pods (team/a, team/b, team/c) to end there: no route to host").retry(time.Minute)},
		"the pods, and the time is up": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NodeExists: true, NodeCordoned: true, Pods: pods3(), Copies: []string{"Secret team/s"}, NamespaceMap: two, Now: builder.Epoch.Add(time.Minute)},
			deleteMap.leaves(left)},
		"the pods, and the time is up, and the map is gone: what has the mark loses it": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NodeExists: true, NodeCordoned: true, Pods: pods3(), Copies: []string{"Secret team/s"}, Marked: 1, Now: builder.Epoch.Add(time.Minute)},
			plan(Release, v1alpha1.ReasonReleasingObjects, "removing the binding's label, annotation and finalizer from 1 object")},
		"the pods, and the time is up, and only the node is left": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NodeExists: true, NodeCordoned: true, Pods: pods3(), Now: builder.Epoch.Add(time.Minute)},
			plan(DeleteNode, v1alpha1.ReasonDeletingNode, "deleting the virtual node and its Lease").leaves(
				"3 pods (team/a, team/b, team/c) that may still run in provider eu; the consumer deletes them, because their node is gone")},
		"pods that are to be orphaned are not waited for": {
			Snapshot{Binding: binding().Orphan().Obj(), NodeExists: true, NodeCordoned: true, Pods: pods3(), Copies: []string{"Secret team/s"}, NamespaceMap: two, Connected: true},
			deleteMap.leaves(left)},
		"what is to be orphaned loses the mark": {
			Snapshot{Binding: binding().Orphan().Obj(), NodeExists: true, NodeCordoned: true, Pods: pods3(), Copies: []string{"Secret team/s"}, Marked: 2},
			plan(Release, v1alpha1.ReasonReleasingObjects, "removing the binding's label, annotation and finalizer from 2 objects")},
		"pods on a node of a provider that was never used": {
			Snapshot{Binding: builder.Binding("eu").Deleted(0).Obj(), Pods: pods3(), NamespaceMap: two}, deleteMap},
		"then the copies": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, NodeCordoned: true, Copies: []string{"ConfigMap team/c", "Secret team/s"}, NamespaceMap: two, Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingCopies, "the copies of 2 objects (ConfigMap team/c, Secret team/s) are being deleted")},
		"the copies, and the provider does not let us see all kinds": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), Copies: []string{"Secret team/s"}, NamespaceMap: two, Connected: true,
				Limited: connection.RightMissing("list and watch secrets"), Now: builder.Epoch},
			plan(Wait, v1alpha1.ReasonDeletingCopies,
				"the copies of 1 object (Secret team/s) are being deleted; the provider does not let Spillway list and watch secrets").retry(time.Minute)},
		"the copies, and the provider does not answer": {
			Snapshot{Binding: binding().Obj(), Copies: []string{"Secret team/s"}, NamespaceMap: two, Unreachable: "no route to host"},
			plan(Wait, v1alpha1.ReasonProviderUnreachable, "the deletion waits for the provider, to delete the copies of 1 object (Secret team/s) there: no route to host")},
		"the mount namespace is one of the remote namespaces": {
			Snapshot{Binding: mounted().Obj(), NamespaceMap: two, Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "3 remote namespaces are being deleted (mount, ra, rb)")},
		"the mount namespace, though the map is gone": {
			Snapshot{Binding: mounted().Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (mount)")},
		"the mount namespace is held, and the provider says why": {
			Snapshot{Binding: binding().MountNamespace("mount").Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, v1alpha1.ReasonNotRequired,
				namespacemap.WithBlocker("it goes", "NamespaceContentRemaining: pods has 1 resource instances")).Obj(),
				NamespaceMap: builder.Map("eu").Current("a", "ra", v1alpha1.MappingTerminating, v1alpha1.ReasonDeletionFailed, "no").Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "2 remote namespaces are being deleted (mount, ra); mount: the provider says NamespaceContentRemaining: pods has 1 resource instances")},
		"the mount namespace is going, and nothing more is known": {
			Snapshot{Binding: binding().MountNamespace("mount").Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, v1alpha1.ReasonNotRequired, "it goes").Obj(),
				NamespaceMap: builder.Map("eu").Current("a", "ra", v1alpha1.MappingTerminating, v1alpha1.ReasonDeletionFailed, "no").Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "2 remote namespaces are being deleted (mount, ra); ra: no")},
		"the mount namespace stays, orphaned": {
			Snapshot{Binding: mounted().Orphan().Obj(), NamespaceMap: builder.Map("eu").Obj(), Connected: true},
			deleteMap.leaves("remote namespaces left in provider eu: mount")},
		"a mount namespace that could not be made is not there": {
			Snapshot{Binding: binding().MountNamespace("mount").Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, v1alpha1.ReasonNameConflict, "").Obj(),
				NamespaceMap: builder.Map("eu").Obj(), Connected: true}, deleteMap},
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
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (ra)")},
		"one that is going is still there": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Current("a", "ra", v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "x").Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (ra)")},
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
			deleteMap.leaves(left)},
		"two asked for one name": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Accepted("a", "r").Desired("b", "r").
				Current("b", "r", v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameTaken, "x").Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (r)")},
		"one is held, and the provider says why": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Current("a", "ra", v1alpha1.MappingTerminating, v1alpha1.ReasonDeletionFailed, "no").Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (ra); ra: no")},
		"one has volumes, whatever time has passed": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NamespaceMap: holding().Obj(), Connected: true, Now: builder.Epoch.Add(time.Hour)},
			plan(Wait, v1alpha1.ReasonVolumesRemain, "rv: claim data")},
		"one has volumes, in a provider that does not answer, and the time is up": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NamespaceMap: holding().Obj(), Now: builder.Epoch.Add(time.Minute)},
			plan(Wait, v1alpha1.ReasonVolumesRemain, "rv: claim data")},
		"one may have volumes, in a provider that does not answer, and the time is up": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NamespaceMap: hangs().Obj(), Volumes: recorded, Unreachable: "no route to host", Now: builder.Epoch.Add(time.Minute)}, mayHold},
		"the statuses are lost, and the provider may have volumes": {
			Snapshot{Binding: builder.Binding("eu").Deleted(0).Obj(), NamespaceMap: builder.Map("eu").Desired("a", "ra").Untouched().Obj(), Volumes: recorded, Unreachable: "no route to host"}, mayHold},
		"the map is gone, and the provider may have volumes": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), Marked: 2, Volumes: recorded, Unreachable: "no route to host", Now: builder.Epoch.Add(time.Minute)}, mayHold},
		"somebody has deleted the map, and the provider may have volumes": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), Marked: 2, Volumes: recorded, Connected: true, Now: builder.Epoch.Add(time.Minute)},
			plan(Wait, v1alpha1.ReasonVolumesRemain, "the NamespaceMap is gone, and remote namespaces may have the volumes of PersistentVolumes spillway-eu-1; "+
				"delete their claims and these PersistentVolumes, or, to leave them there, set spec.deletionPolicy to Orphan, or the annotation spillway.io/lose-volumes=true")},
		"somebody has deleted the map, and its volumes may be lost": {
			Snapshot{Binding: losing(binding().Obj()), Marked: 2, Volumes: recorded, Connected: true},
			plan(Release, v1alpha1.ReasonReleasingObjects, "removing the binding's label, annotation and finalizer from 2 objects").
				leaves("volumes that may be left in provider eu, with their remote namespaces, because the NamespaceMap was gone: those of PersistentVolumes spillway-eu-1")},
		"its volumes were given up, and lost with their namespaces, before a pause": {
			Snapshot{Binding: losing(binding().Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, v1alpha1.ReasonPaused, "").Obj()), Marked: 2, Volumes: recorded, Connected: true},
			plan(Release, v1alpha1.ReasonReleasingObjects, "removing the binding's label, annotation and finalizer from 2 objects")},
		"its volumes were given up, and lost with their namespaces": {
			Snapshot{Binding: losing(binding().Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, v1alpha1.ReasonDeletingNamespaceMap, "").Obj()), Marked: 2, Volumes: recorded, Connected: true},
			plan(Release, v1alpha1.ReasonReleasingObjects, "removing the binding's label, annotation and finalizer from 2 objects")},
		"the remote namespaces are gone, and somebody's deletion has left a record": {
			Snapshot{Binding: binding().Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, v1alpha1.ReasonDeletingNamespaceMap, "").Obj(), NodeExists: true, NodeCordoned: true, Volumes: recorded},
			plan(DeleteNode, v1alpha1.ReasonDeletingNode, "deleting the virtual node and its Lease")},
		"its volumes may be lost, in a provider that does not answer, and the time is up": {
			Snapshot{Binding: losing(binding().DeletionTimeout(time.Minute).Obj()), NamespaceMap: holding().Obj(), Volumes: []string{"spillway-eu-1"}, Now: builder.Epoch.Add(time.Minute)},
			deleteMap.leaves("remote namespaces left in provider eu: ra, rv")},
		"its volumes may be lost, in a provider that answers": {
			Snapshot{Binding: losing(binding().Obj()), NamespaceMap: hangs().Obj(), Volumes: []string{"spillway-eu-1"}, Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (ra)")},
		"one hangs in a provider that answers": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NamespaceMap: hangs().Obj(), Connected: true, Now: builder.Epoch.Add(20 * time.Second)},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (ra)").retry(40 * time.Second)},
		"one hangs in a provider that answers, and the time is up": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NamespaceMap: hangs().Obj(), Connected: true, Now: builder.Epoch.Add(time.Minute)},
			deleteMap.leaves("remote namespaces left in provider eu: ra")},
		"pods of a provider that answers, whatever time has passed": {
			Snapshot{Binding: binding().DeletionTimeout(time.Minute).Obj(), NodeExists: true, NodeCordoned: true, Pods: pods3(), NamespaceMap: two, Connected: true, Now: builder.Epoch.Add(time.Hour)},
			plan(Wait, v1alpha1.ReasonEvictingPods, evicting)},
		"paused, at any step": {
			Snapshot{Binding: binding().Paused().DeletionTimeout(time.Minute).Obj(), NodeExists: true, Pods: pods3(), NamespaceMap: two, Connected: true, Now: builder.Epoch.Add(time.Hour)},
			plan(Wait, v1alpha1.ReasonPaused, "spec.paused is set: unset it to continue the deletion")},
		"paused, and a duplicate: nothing is there to be kept": {
			Snapshot{Binding: binding().Paused().Obj(), Duplicate: true},
			plan(RemoveFinalizer, v1alpha1.ReasonDrained, "the ClusterBinding did not hold its clusterID, so nothing was created for it")},
		"never connected": {
			Snapshot{Binding: builder.Binding("eu").Deleted(0).Obj(), NamespaceMap: two, Unreachable: "no route to host"}, deleteMap},
		"identified, but never usable": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Desired("a", "ra").Untouched().Obj(), Unreachable: "no route to host"}, deleteMap},
		"not checked yet, but usable": {
			Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Desired("a", "ra").Untouched().Obj(), Connected: true},
			plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (ra)")},
		"orphaned": {
			Snapshot{Binding: binding().Orphan().Obj(), NodeExists: true, NodeCordoned: true, NamespaceMap: two, Connected: true}, deleteMap.leaves(left)},
		"orphaned, and the provider does not answer": {
			Snapshot{Binding: binding().Orphan().Obj(), NamespaceMap: two}, deleteMap.leaves(left)},
		"then the node": {
			Snapshot{Binding: binding().Obj(), NodeExists: true, NodeCordoned: true},
			plan(DeleteNode, v1alpha1.ReasonDeletingNode, "deleting the virtual node and its Lease")},
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

// TestNoNamespaceIsGivenUpUnasked checks that remote namespaces are given up after the timeout, but not
// before the provider was asked to delete each of them.
func TestNoNamespaceIsGivenUpUnasked(t *testing.T) {
	for name, test := range map[string]struct {
		mount string // The reason of the condition of the mount namespace.
		nsm   *v1alpha1.NamespaceMap
		want  Action
	}{
		"all have been": {v1alpha1.ReasonNamespaceTerminating, hangs().Obj(), DeleteNamespaceMap},
		"the mount namespace has been, and the map is gone": {v1alpha1.ReasonNamespaceTerminating, nil, RemoveFinalizer},
		"the mount namespace has not been":                  {v1alpha1.ReasonNamespaceActive, hangs().Obj(), Wait},
		"the mount namespace may be created yet":            {v1alpha1.ReasonPending, hangs().Obj(), Wait},
		"one is wanted":                                     {"", hangs().Desired("b", "rb").Obj(), Wait},
		"the map has not been looked at":                    {"", hangs().Unobserved().Obj(), Wait},
		"one has not been":                                  {"", hangs().Current("b", "rb", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(), Wait},
	} {
		binding := builder.Binding("eu").Pinned("uid").Deleted(0).MountNamespace("mount").DeletionTimeout(time.Minute).
			Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, test.mount, "").Obj()
		got := Decide(Snapshot{Binding: binding, NamespaceMap: test.nsm, Connected: true, Now: builder.Epoch.Add(time.Hour)})
		if got.Action != test.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Action, got.Drained.Message, test.want)
		}
	}
}

// world is the state that the steps work on, and what other controllers do meanwhile.
type world struct {
	Snapshot
	gone  bool
	steps []string
}

// pass is one reconcile. If happens is false, the process dies before its action; otherwise the action
// happens, even if the process dies before it sees the answer.
func (w *world) pass(happens bool) {
	plan := Decide(w.Snapshot)
	w.steps = append(w.steps, plan.Drained.Reason)
	if !happens {
		return
	}
	meta.SetStatusCondition(&w.Binding.Status.Conditions, plan.Drained)
	switch plan.Action {
	case Cordon:
		w.NodeCordoned = true
	case DeleteNamespaceMap:
		w.NamespaceMap = nil
	case Release:
		w.Marked = 0
	case DeleteNode:
		w.NodeExists, w.NodeCordoned = false, false
	case RemoveFinalizer:
		w.gone = true
	case Wait:
		w.others(plan.Drained.Reason)
	}
}

// others do what the deletion waits for: one thing at a time, in order.
func (w *world) others(reason string) {
	switch reason {
	case v1alpha1.ReasonEvictingPods:
		w.Pods.Count--
	case v1alpha1.ReasonDeletingCopies:
		w.Copies = w.Copies[1:]
	case v1alpha1.ReasonProviderUnreachable:
		w.Connected = true
	case v1alpha1.ReasonDeletingLease:
		w.LeaseDeleted = true
	case v1alpha1.ReasonDeletingNamespaces:
		nsm := w.NamespaceMap
		switch {
		case len(nsm.Spec.DesiredMapping) > 0: // The mapping controller empties the spec,
			nsm.Spec.DesiredMapping = nil
			nsm.Generation++
		case len(nsm.Status.CurrentMapping) > 0: // and the namespacemap controller deletes one namespace after another.
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
			Binding: builder.Binding("eu").Pinned("uid").Held(1).Deleted(0).Obj(), NodeExists: true, Pods: eviction.Remaining{Count: 2}, Copies: []string{"ConfigMap team/c", "Secret team/s"}, Marked: 1,
			NamespaceMap: builder.Map("eu").Accepted("a", "ra").Accepted("b", "rb").Obj(), Now: builder.Epoch,
		}}
	}
	order := []string{v1alpha1.ReasonCordoning, v1alpha1.ReasonProviderUnreachable, v1alpha1.ReasonEvictingPods, v1alpha1.ReasonDeletingCopies,
		v1alpha1.ReasonDeletingNamespaces, v1alpha1.ReasonDeletingNamespaceMap, v1alpha1.ReasonReleasingObjects, v1alpha1.ReasonDeletingNode,
		v1alpha1.ReasonDeletingLease, v1alpha1.ReasonDrained}
	whole := bound()
	for i := 0; !whole.gone && i < 100; i++ {
		whole.pass(true)
	}
	passes := len(whole.steps)
	// The process dies in this reconcile, before or after its action; -1 means never.
	for lost := -1; lost < passes; lost++ {
		w := bound()
		for i := 0; !w.gone && i < 100; i++ {
			w.pass(i != lost)
		}
		if !w.gone || w.NodeExists || w.NamespaceMap != nil || w.Pods.Count != 0 || len(w.Copies) != 0 || w.Marked != 0 || !w.LeaseDeleted {
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

func TestNeedsProvider(t *testing.T) {
	binding := func() *builder.BindingBuilder { return builder.Binding("eu").Pinned("uid").Deleted(0) }
	tests := map[string]struct {
		snapshot Snapshot
		want     bool
	}{
		"nothing is left":                    {Snapshot{Binding: binding().Obj(), NodeExists: true, Marked: 1}, false},
		"remote namespaces may be":           {Snapshot{Binding: binding().Obj(), NamespaceMap: builder.Map("eu").Obj()}, true},
		"pods are, though the map is gone":   {Snapshot{Binding: binding().Obj(), Pods: pods3()}, true},
		"copies are, though the map is gone": {Snapshot{Binding: binding().Obj(), Copies: []string{"Secret team/s"}}, true},
		"the mount namespace is, though the map is gone": {
			Snapshot{Binding: binding().Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, v1alpha1.ReasonNotRequired, "").Obj()}, true},
		"volumes are, though the map is gone": {Snapshot{Binding: binding().Obj(), Volumes: []string{"spillway-eu-1"}}, true},
		"volumes are, that may be lost":       {Snapshot{Binding: losing(binding().Obj()), Volumes: []string{"spillway-eu-1"}}, false},
		"all is to stay":                      {Snapshot{Binding: binding().Orphan().Obj(), NamespaceMap: builder.Map("eu").Obj(), Pods: pods3()}, false},
		"it is somebody else's":               {Snapshot{Binding: binding().Obj(), Duplicate: true, NamespaceMap: builder.Map("eu").Obj()}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := NeedsProvider(test.snapshot); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestEmpties(t *testing.T) {
	drained := func(reason string) *v1alpha1.ClusterBinding {
		return builder.Binding("eu").Deleted(time.Second).Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, reason, "").Obj()
	}
	for reason, want := range map[string]bool{
		v1alpha1.ReasonCordoning: false, v1alpha1.ReasonEvictingPods: false, v1alpha1.ReasonDeletingNamespaces: true,
		v1alpha1.ReasonProviderUnreachable: false, v1alpha1.ReasonDeletingNamespaceMap: false, v1alpha1.ReasonDeletingNode: false,
	} {
		if got := ReachedNamespaces(drained(reason)); got != want {
			t.Errorf("at %s: %v", reason, got)
		}
	}
	if ReachedNamespaces(builder.Binding("eu").Deleted(0).Obj()) {
		t.Error("before its first step")
	}
}

// TestCrashBeforeTheReport tests a manager that dies after it has created a remote namespace, and before it
// reports that. Then the deletion of the binding removes the entry. The deletion must not end before the
// namespace is gone. It must not wait for a namespace that somebody in the provider has marked as Spillway's.
func TestCrashBeforeTheReport(t *testing.T) {
	for name, test := range map[string]struct {
		localUID types.UID
		want     Action
	}{
		"it was made for the local namespace": {"uid-of-team", Wait},
		"somebody claims that it was":         {"another", DeleteNamespaceMap},
	} {
		t.Run(name, func(t *testing.T) {
			nsm := builder.Map("eu").Obj() // It was processed, has no entry any more, and reports nothing.
			remote := namespacemap.RemoteNamespace{Name: "team-home", UID: "1", LocalNamespace: "team", LocalUID: test.localUID}
			for _, remote.Terminating = range []bool{false, true} { // The provider does not finish its deletion.
				decided := namespacemap.Decide(namespacemap.Snapshot{
					Locals: map[string]types.UID{"team": "uid-of-team"}, Existing: namespacemap.Existing(nsm),
					Remotes: map[string]namespacemap.RemoteNamespace{remote.Name: remote},
				})
				if deletes := len(decided.Deletes) == 1; deletes == remote.Terminating {
					t.Errorf("deletes %v, terminating: %v", decided.Deletes, remote.Terminating)
				}
				nsm.Status = namespacemap.Report(nsm, decided.Known, metav1.NewTime(builder.Epoch))
				binding := builder.Binding("eu").Pinned("uid").Deleted(0).Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, v1alpha1.ReasonDeletingNamespaces, "")
				if got := Decide(Snapshot{Binding: binding.Obj(), NamespaceMap: nsm, Connected: true}); got.Action != test.want {
					t.Errorf("it is to %s: %s; want %s", got.Action, got.Drained.Message, test.want)
				}
			}
		})
	}
}
