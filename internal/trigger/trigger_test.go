package trigger

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestNotStatus(t *testing.T) {
	before, another := builder.Offloading("team").Obj(), builder.Offloading("team").Obj()
	another.UID = "another"
	tests := map[string]struct {
		after client.Object
		want  bool
	}{
		"nothing":        {before, false},
		"the status":     {builder.Offloading("team").Status(v1alpha1.NamespaceOffloadingStatus{OffloadingPhase: "Ready"}).Obj(), false},
		"labels":         {builder.Offloading("team").Labels(map[string]string{"a": "b"}).Obj(), false},
		"the spec":       {builder.Offloading("team").Generation(2).Obj(), true},
		"the finalizers": {builder.Offloading("team").Finalizers().Obj(), true},
		"made again":     {another, true},
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
}

// cache holds objects of two kinds, or is stopping.
type cache struct {
	client.Reader
	bindings    []v1alpha1.ClusterBinding
	offloadings []v1alpha1.NamespaceOffloading
	err         error
}

func (c cache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1alpha1.ClusterBindingList:
		list.Items = c.bindings
	case *v1alpha1.NamespaceOffloadingList:
		list.Items = c.offloadings
	}
	return c.err
}

func TestMatching(t *testing.T) {
	full := cache{
		bindings:    []v1alpha1.ClusterBinding{*builder.Binding("eu").Obj(), *builder.Binding("us").Obj()},
		offloadings: []v1alpha1.NamespaceOffloading{*builder.Offloading("team-a").Obj(), *builder.Offloading("team-b").Obj()},
	}
	stopping := full
	stopping.err = errors.New("stopped")
	notEU := func(cb *v1alpha1.ClusterBinding) bool { return cb.Name != "eu" }
	ofTeamA := func(nso *v1alpha1.NamespaceOffloading) bool { return nso.Namespace == "team-a" }
	tests := map[string]struct{ got, want []reconcile.Request }{
		"some bindings":     {Bindings(t.Context(), full, notEU), []reconcile.Request{Named("us")}},
		"some offloadings":  {Offloadings(t.Context(), full, ofTeamA), []reconcile.Request{Offloading("team-a")}},
		"an empty cache":    {Bindings(t.Context(), cache{}, notEU), nil},
		"one that is ended": {Bindings(t.Context(), stopping, notEU), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// bindingTo returns a ClusterBinding with its own clusterID, to the same provider as all others.
func bindingTo(name string) *v1alpha1.ClusterBinding {
	return &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: name}, Status: v1alpha1.ClusterBindingStatus{RemoteClusterUID: "one"},
	}
}

// listed is a cache of ClusterBindings that counts how often all are listed.
type listed struct {
	client.Reader
	times int
}

func (l *listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	l.times++
	for _, name := range []string{"a", "b"} {
		binding := bindingTo(name)
		list.(*v1alpha1.ClusterBindingList).Items = append(list.(*v1alpha1.ClusterBindingList).Items, *binding)
	}
	return nil
}

// TestAStartComparesNoBindings: at a start each binding is enqueued once, and not once for each other
// binding.
func TestAStartComparesNoBindings(t *testing.T) {
	for initially, want := range map[bool]int{true: 0, false: 1} {
		cache := &listed{}
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		SharedWith(cache).Create(t.Context(), event.CreateEvent{Object: bindingTo("a"), IsInInitialList: initially}, queue)
		for deadline := time.Now().Add(time.Minute); want > 0 && queue.Len() == 0 && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if got := queue.Len() > 0; cache.times != want || got != (want > 0) {
			t.Errorf("initially %t: all are listed %d times, and something is enqueued: %t", initially, cache.times, got)
		}
		queue.ShutDown()
	}
}
