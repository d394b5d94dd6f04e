package shard

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/trigger"
)

func TestAllIsOwnedWithoutSharing(t *testing.T) {
	if !(All{}).Owns("eu") {
		t.Error("eu is not owned")
	}
	All{}.Subscribe(func(binding string) { t.Errorf("told of %s", binding) })
}

func TestSourceAsksForWhatComesAndGoes(t *testing.T) {
	registry := &members{}
	c := New(registry, held(map[string]string{"eu": ""}), testclock.NewFakeClock(time.Now()))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := Source(c, trigger.Named).Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	for _, live := range [][]string{{"a"}, nil} {
		registry.live = live
		c.decide(t.Context())
		request, _ := queue.Get()
		if request != trigger.Named("eu") || c.Owns("eu") != (live != nil) {
			t.Errorf("asked for %v while %v live", request, live)
		}
		queue.Done(request)
	}
}

// added is a manager that keeps what is added.
type added struct {
	manager.Manager
	runnable manager.Runnable
}

func (a *added) Add(r manager.Runnable) error {
	a.runnable = r
	return nil
}

type addedAware struct {
	mcmanager.Manager
	runnable mcmanager.Runnable
}

func (a *addedAware) Add(r mcmanager.Runnable) error {
	a.runnable = r
	return nil
}

func TestEverywhereNeedsNoElection(t *testing.T) {
	local, all := &added{}, &addedAware{}
	ran := 0
	run := manager.RunnableFunc(func(context.Context) error { ran++; return nil })
	aware := struct {
		manager.RunnableFunc
		*engaged
	}{run, &engaged{contexts: map[string]context.Context{}}}
	if err := Everywhere(local).Add(run); err != nil {
		t.Fatal(err)
	}
	if err := EverywhereAware(all).Add(aware); err != nil {
		t.Fatal(err)
	}
	for _, runnable := range []manager.Runnable{local.runnable, all.runnable} {
		if elected, ok := runnable.(manager.LeaderElectionRunnable); !ok || elected.NeedLeaderElection() {
			t.Errorf("%T runs in the elected replica only", runnable)
		}
		if err := runnable.Start(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := all.runnable.Engage(t.Context(), "eu", nil); err != nil || aware.contexts["eu"] == nil || ran != 2 {
		t.Errorf("run %d times, and engaged with %v: %v", ran, aware.contexts, err)
	}
}
