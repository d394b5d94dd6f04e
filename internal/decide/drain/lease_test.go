package drain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestTheLeaseGoesLast(t *testing.T) {
	held := func() *builder.BindingBuilder { return builder.Binding("eu").Pinned("uid").Held(3).Deleted(0) }
	leaving := func(b *builder.BindingBuilder) *v1alpha1.ClusterBinding {
		return b.Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, v1alpha1.ReasonDeletingLease, "").Obj()
	}
	waits := plan(Wait, v1alpha1.ReasonDeletingLease, "deleting the Lease in the provider; if its holder was killed, this waits until the Lease has expired")
	done := plan(RemoveFinalizer, v1alpha1.ReasonDrained, "nothing is left")
	stays := done.leaves("the Lease stays in provider eu, so a recreated binding asks for a take-over. It could not be deleted: no route to host")
	tests := map[string]struct {
		snapshot Snapshot
		want     Plan
	}{
		"the node first": {
			Snapshot{Binding: held().Obj(), NodeExists: true, NodeCordoned: true},
			plan(DeleteNode, v1alpha1.ReasonDeletingNode, "deleting the virtual node and its Lease")},
		"then the Lease": {Snapshot{Binding: held().Obj()}, waits},
		"whatever becomes of the connection before": {Snapshot{Binding: held().Obj(), LeaseDeleted: true, LeaseGivenUp: "no route to host"}, waits},
		"it is tried":                              {Snapshot{Binding: leaving(held())}, waits},
		"it is gone":                               {Snapshot{Binding: leaving(held()), LeaseDeleted: true}, done},
		"it was tried in vain":                     {Snapshot{Binding: leaving(held()), LeaseGivenUp: "no route to host"}, stays},
		"orphaned: it goes too":                    {Snapshot{Binding: held().Orphan().Obj()}, waits},
		"orphaned, and it was tried in vain":       {Snapshot{Binding: leaving(held().Orphan()), LeaseGivenUp: "no route to host"}, stays},
		"the time is up: it is tried all the same": {Snapshot{Binding: held().DeletionTimeout(time.Minute).Obj(), Now: builder.Epoch.Add(time.Hour)}, waits},
		"paused":            {Snapshot{Binding: leaving(held().Paused())}, plan(Wait, v1alpha1.ReasonPaused, "spec.paused is set: unset it to continue the deletion")},
		"it was never held": {Snapshot{Binding: held().Held(0).Obj()}, done},
		"a duplicate, whose Lease is another one's":  {Snapshot{Binding: leaving(held()), Duplicate: true}, plan(RemoveFinalizer, v1alpha1.ReasonDrained, "the ClusterBinding did not hold its clusterID, so nothing was created for it")},
		"of a provider that was never identified":    {Snapshot{Binding: held().Pinned("").Obj()}, done},
		"remote namespaces are there again":          {Snapshot{Binding: leaving(held()), NamespaceMap: hangs().Obj(), Connected: true}, plan(Wait, v1alpha1.ReasonDeletingNamespaces, "1 remote namespace is being deleted (ra)")},
		"a mount namespace that stays holds up none": {Snapshot{Binding: leaving(mounting(held()).DeletionTimeout(time.Minute)), Now: builder.Epoch.Add(time.Hour)}, waits},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Decide(test.snapshot)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// mounting adds a mount namespace whose deletion was requested.
func mounting(b *builder.BindingBuilder) *builder.BindingBuilder {
	return b.MountNamespace("mount").Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, v1alpha1.ReasonNotRequired, "")
}

func TestLeaves(t *testing.T) {
	at := func(reason string) *v1alpha1.ClusterBinding {
		return builder.Binding("eu").Deleted(0).Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, reason, "").Obj()
	}
	released := at(v1alpha1.ReasonDeletingLease)
	released.Finalizers = []string{"another"}
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		want    bool
	}{
		"before its first step":                      {builder.Binding("eu").Deleted(0).Obj(), false},
		"one step before":                            {at(v1alpha1.ReasonDeletingNode), false},
		"at the Lease":                               {at(v1alpha1.ReasonDeletingLease), true},
		"done, and held by the finalizer of another": {released, false},
	} {
		if got := ReachedLease(test.binding); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
