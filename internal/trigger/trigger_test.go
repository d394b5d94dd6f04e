package trigger

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestNotStatus(t *testing.T) {
	before := builder.Offloading("team").Obj()
	tests := map[string]struct {
		after client.Object
		want  bool
	}{
		"nothing":        {before, false},
		"the status":     {builder.Offloading("team").Status(v1alpha1.NamespaceOffloadingStatus{OffloadingPhase: "Ready"}).Obj(), false},
		"labels":         {builder.Offloading("team").Labels(map[string]string{"a": "b"}).Obj(), false},
		"the spec":       {builder.Offloading("team").Generation(2).Obj(), true},
		"the finalizers": {builder.Offloading("team").Finalizers().Obj(), true},
		"its deletion":   {builder.Offloading("team").Deleted(time.Second).Obj(), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := NotStatus().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: test.after}); got != test.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
	if !NotStatus().Create(event.CreateEvent{Object: before}) || !NotStatus().Delete(event.DeleteEvent{Object: before}) {
		t.Error("it holds back what comes or goes")
	}
}

func TestReach(t *testing.T) {
	connected := builder.Binding("eu").Connected().Obj()
	next := builder.Binding("eu").Connected().Obj()
	next.Generation++
	tests := map[string]struct {
		before, after *v1alpha1.ClusterBinding
		want          bool
	}{
		"nothing":               {connected, connected, false},
		"another condition":     {connected, builder.Binding("eu").Connected().Condition("VirtualNodeReady", metav1.ConditionTrue, "NodeReady", "").Obj(), false},
		"the first connection":  {builder.Binding("eu").Obj(), connected, false},
		"the spec":              {connected, next, true},
		"lost":                  {connected, builder.Binding("eu").Unreachable("no route").Obj(), true},
		"back":                  {builder.Binding("eu").Unreachable("no route").Obj(), connected, true},
		"lost in another way":   {builder.Binding("eu").Unreachable("no route").Obj(), builder.Binding("eu").Unreachable("timeout").Obj(), true},
		"lost in the same way":  {builder.Binding("eu").Unreachable("no route").Obj(), builder.Binding("eu").Unreachable("no route").Obj(), false},
		"lost, and not so sure": {builder.Binding("eu").Unreachable("no route").Obj(), builder.Binding("eu").Condition("Connected", metav1.ConditionUnknown, "Connecting", "").Obj(), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Reach().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
	if Reach().Create(event.CreateEvent{Object: connected}) || !Reach().Delete(event.DeleteEvent{Object: connected}) {
		t.Error("it passes what comes, or holds back what goes")
	}
}

func TestRequests(t *testing.T) {
	if got := Named("eu").String() + " " + Offloading("team").String(); got != "/eu team/offloading" {
		t.Errorf("got %s", got)
	}
	if _, ok, err := (OnEngage{}).ForCluster("", nil); ok || err != nil {
		t.Errorf("the consumer itself is engaged: %v, %v", ok, err)
	}
	if _, ok, err := (OnEngage{}).ForCluster("eu", nil); !ok || err != nil {
		t.Errorf("a provider is not: %v, %v", ok, err)
	}
}
