package namespaceoffloading

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func drained(reason string) *v1alpha1.ClusterBinding {
	return builder.Binding("eu").Deleted(time.Second).Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, reason, "").Obj()
}

func TestEmptying(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonCordoning: false, v1alpha1.ReasonEvictingPods: false, v1alpha1.ReasonDeletingNamespaces: true,
		v1alpha1.ReasonProviderUnreachable: false, v1alpha1.ReasonDeletingNamespaceMap: false, v1alpha1.ReasonDeletingNode: false,
	} {
		if got := emptying(drained(reason)); got != want {
			t.Errorf("at %s: %v", reason, got)
		}
	}
	if emptying(builder.Binding("eu").Deleted(0).Obj()) {
		t.Error("before its first step")
	}
}

func TestMappingChanges(t *testing.T) {
	next := builder.Binding("eu").Obj()
	next.Generation++
	ready := builder.Binding("eu").Condition(v1alpha1.BindingReady, metav1.ConditionTrue, v1alpha1.ReasonReady, "").Obj()
	tests := map[string]struct {
		before, after *v1alpha1.ClusterBinding
		want          bool
	}{
		"nothing":           {builder.Binding("eu").Obj(), builder.Binding("eu").Obj(), false},
		"its spec":          {builder.Binding("eu").Obj(), next, true},
		"counts":            {builder.Binding("eu").Obj(), builder.Binding("eu").Pinned("uid").Obj(), false},
		"it is Ready":       {builder.Binding("eu").Obj(), ready, true},
		"the next step":     {drained(v1alpha1.ReasonEvictingPods), drained(v1alpha1.ReasonDeletingNamespaces), true},
		"the step it is at": {drained(v1alpha1.ReasonEvictingPods), drained(v1alpha1.ReasonEvictingPods), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mappingChanges().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
}
