package shard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/manager/coordinator/sharded/sharder"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

// members is a registry in which the test determines who lives.
type members struct {
	mu   sync.Mutex
	live []string
	left chan struct{}
}

func (*members) Self() sharder.PeerInfo { return sharder.PeerInfo{ID: "a"} }

func (m *members) Snapshot() []sharder.PeerInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []sharder.PeerInfo
	for _, id := range m.live {
		all = append(all, sharder.PeerInfo{ID: id})
	}
	return all
}

func (m *members) Run(ctx context.Context) error {
	<-ctx.Done()
	close(m.left)
	return nil
}

func held(holders map[string]string) Holders {
	return func(context.Context) (map[string]string, error) { return holders, nil }
}

func TestOwnsItsShare(t *testing.T) {
	registry := &members{}
	holders := map[string]string{"1": "b", "2": "a", "3": "b", "4": ""}
	c := New(registry, held(holders), testclock.NewFakeClock(time.Now()))
	var told []string
	c.Subscribe(func(binding string) {
		if got := c.Owns(binding); got != slices.Contains([]string{"2", "4"}, binding) && len(told) < 2 {
			t.Errorf("told of %s before it is so", binding)
		}
		told = append(told, binding)
	})
	for _, step := range []struct {
		name string
		live []string
		want []string
	}{
		{"nobody, for it is not known who lives", nil, nil},
		{"others, which do not know of us", []string{"b"}, nil},
		{"two", []string{"a", "b"}, []string{"2", "4"}},
		{"the same two, the other way round", []string{"b", "a"}, []string{"2", "4"}},
		{"one", []string{"a"}, []string{"1", "2", "3", "4"}},
		{"the other one again", []string{"a", "b"}, []string{"2", "4"}},
		{"nobody again", nil, nil},
	} {
		registry.live = step.live
		before := len(told)
		owned := owns(c, holders)
		c.decide(t.Context())
		if diff := cmp.Diff(step.want, owns(c, holders)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		if changed := difference(owned, step.want); len(told)-before != changed {
			t.Errorf("%s: told of %v, want %d", step.name, told[before:], changed)
		}
	}
}

func owns(c *Coordinator, all map[string]string) []string {
	var owned []string
	for binding := range all {
		if c.Owns(binding) {
			owned = append(owned, binding)
		}
	}
	slices.Sort(owned)
	return owned
}

func difference(a, b []string) int {
	count := 0
	for _, one := range slices.Concat(a, b) {
		if slices.Contains(a, one) != slices.Contains(b, one) {
			count++
		}
	}
	return count
}

func TestWhatCannotBeReadStays(t *testing.T) {
	registry := &members{live: []string{"a"}}
	var err error
	c := New(registry, func(context.Context) (map[string]string, error) { return map[string]string{"eu": ""}, err }, testclock.NewFakeClock(time.Now()))
	c.decide(t.Context())
	err = errors.New("the cache is not there")
	c.decide(t.Context())
	if !c.Owns("eu") {
		t.Error("it is given away because it cannot be read")
	}
	registry.live = nil // That needs no read.
	c.decide(t.Context())
	if c.Owns("eu") {
		t.Error("it is owned by who may not live")
	}
}

func TestRunsInAllReplicasAndLeavesLast(t *testing.T) {
	registry, clock := &members{live: []string{"a"}, left: make(chan struct{})}, testclock.NewFakeClock(time.Now())
	c := New(registry, held(map[string]string{"eu": ""}), clock)
	owned := make(chan string, 1)
	c.Subscribe(func(binding string) { owned <- binding })
	run := c.Runnable()
	if elected, ok := run.(manager.LeaderElectionRunnable); !ok || elected.NeedLeaderElection() {
		t.Error("it runs in the elected replica only")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run.Start(ctx) }()
	for !clock.HasWaiters() {
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("it does not run")
		}
	}
	clock.Step(decideInterval)
	if got := <-owned; got != "eu" {
		t.Errorf("told of %q", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	select {
	case <-registry.left:
	default:
		t.Error("it has ended before the registry")
	}
}

type engaged struct{ contexts map[string]context.Context }

func (e *engaged) Engage(ctx context.Context, name multicluster.ClusterName, _ cluster.Cluster) error {
	e.contexts[string(name)] = ctx
	return nil
}

// TestEachConnectionHasAContextOfItsOwn fails with the stock coordinator.
func TestEachConnectionHasAContextOfItsOwn(t *testing.T) {
	c, aware := New(&members{}, held(nil), testclock.NewFakeClock(time.Now())), &engaged{contexts: map[string]context.Context{}}
	c.AddAware(aware)
	eu, endEU := context.WithCancel(t.Context())
	us, endUS := context.WithCancel(t.Context())
	defer endUS()
	if err := errors.Join(c.Engage(eu, "eu", nil), c.Engage(us, "us", nil)); err != nil {
		t.Fatal(err)
	}
	endEU()
	if aware.contexts["eu"].Err() == nil || aware.contexts["us"].Err() != nil {
		t.Errorf("after eu has ended: eu %v, us %v", aware.contexts["eu"].Err(), aware.contexts["us"].Err())
	}
}
