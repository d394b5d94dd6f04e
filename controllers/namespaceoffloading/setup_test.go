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

func TestEntryChanges(t *testing.T) {
	accepted := func() *builder.MapBuilder { return builder.Map("eu").Accepted("team", "team-home") }
	there := builder.Map("eu").Current("team", "team-home", v1alpha1.MappingAccepted, "", "").Obj()
	edited, counted := accepted().Obj(), accepted().Obj()
	edited.Generation++
	counted.Status.LeavingPods = []v1alpha1.LeavingPods{{Namespace: "team"}}
	for name, test := range map[string]struct {
		before, after *v1alpha1.NamespaceMap
		want          bool
	}{
		"nothing":                          {accepted().Obj(), accepted().Obj(), false},
		"the spec":                         {accepted().Obj(), edited, true},
		"how many pods must leave":         {accepted().Obj(), counted, true},
		"one is told of":                   {builder.Map("eu").Desired("team", "team-home").Obj(), accepted().Obj(), true},
		"one is told of, another no more":  {there, builder.Map("eu").Current("other", "x", v1alpha1.MappingTerminating, "", "").Obj(), true},
		"one is ready":                     {builder.Map("eu").Desired("team", "team-home").Current("team", "team-home", v1alpha1.MappingCreationLoopBackOff, "", "").Obj(), accepted().Obj(), false},
		"one is there that has no entry":   {builder.Map("eu").Obj(), there, true},
		"one goes, as nobody asks for it":  {there, builder.Map("eu").Current("team", "team-home", v1alpha1.MappingTerminating, "", "").Obj(), false},
		"one that nobody asks for is gone": {builder.Map("eu").Current("team", "team-home", v1alpha1.MappingTerminating, "", "").Obj(), builder.Map("eu").Obj(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := entryChanges().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
}

func TestMappingChanges(t *testing.T) {
	next := builder.Binding("eu").Obj()
	next.Generation++
	counted := builder.Binding("eu").Obj()
	counted.Status.Namespaces.Summary = "1/2"
	ready := builder.Binding("eu").Condition(v1alpha1.BindingReady, metav1.ConditionTrue, v1alpha1.ReasonReady, "").Obj()
	tests := map[string]struct {
		before, after *v1alpha1.ClusterBinding
		want          bool
	}{
		"nothing":           {builder.Binding("eu").Obj(), builder.Binding("eu").Obj(), false},
		"its spec":          {builder.Binding("eu").Obj(), next, true},
		"counts":            {builder.Binding("eu").Obj(), counted, false},
		"its provider":      {builder.Binding("eu").Obj(), builder.Binding("eu").Pinned("uid").Obj(), true},
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
