package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	testclock "k8s.io/utils/clock/testing"
)

// leases is a client for the Leases in the manager's namespace. Other methods panic.
type leases struct {
	coordinationclient.LeaseInterface
	mu       sync.Mutex
	all      map[string]*coordinationv1.Lease
	version  int
	requests []string
	// fail, if set, is called before each request.
	fail func(verb string) error
}

func newLeases() *leases { return &leases{all: map[string]*coordinationv1.Lease{}} }

func (l *leases) request(ctx context.Context, verb string) error {
	if _, bounded := ctx.Deadline(); !bounded {
		return errors.New(verb + " has no time-out")
	}
	l.requests = append(l.requests, verb)
	if l.fail != nil {
		return l.fail(verb)
	}
	return nil
}

func (l *leases) store(lease *coordinationv1.Lease) *coordinationv1.Lease {
	l.version++
	stored := lease.DeepCopy()
	stored.ResourceVersion = fmt.Sprint(l.version)
	if stored.UID == "" {
		stored.UID = types.UID("uid-" + stored.ResourceVersion)
	}
	l.all[stored.Name] = stored
	return stored.DeepCopy()
}

var resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (l *leases) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.request(ctx, "get"); err != nil {
		return nil, err
	}
	if lease, ok := l.all[name]; ok {
		return lease.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(resource, name)
}

func (l *leases) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.request(ctx, "create"); err != nil {
		return nil, err
	}
	return l.store(lease), nil
}

func (l *leases) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.request(ctx, "update"); err != nil {
		return nil, err
	}
	there, ok := l.all[lease.Name]
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(resource, lease.Name)
	case there.ResourceVersion != lease.ResourceVersion:
		return nil, apierrors.NewConflict(resource, lease.Name, errors.New("it has changed"))
	}
	return l.store(lease), nil
}

func (l *leases) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.request(ctx, "delete"); err != nil {
		return err
	}
	there, ok := l.all[name]
	switch {
	case !ok:
		return apierrors.NewNotFound(resource, name)
	case *o.Preconditions.UID != there.UID || *o.Preconditions.ResourceVersion != there.ResourceVersion:
		return apierrors.NewConflict(resource, name, errors.New("it has changed"))
	}
	delete(l.all, name)
	return nil
}

func (l *leases) List(ctx context.Context, o metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.request(ctx, "list"); err != nil {
		return nil, err
	}
	list := &coordinationv1.LeaseList{}
	key, value, _ := strings.Cut(o.LabelSelector, "=")
	for _, lease := range l.all {
		if lease.Labels[key] == value {
			list.Items = append(list.Items, *lease.DeepCopy())
		}
	}
	return list, nil
}

// replica is a Registry whose passes the test runs.
type replica struct {
	*Registry
	clock *testclock.FakeClock
}

func newReplica(l *leases, identity string) replica {
	clock := testclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return replica{NewRegistry(RegistryOptions{Leases: l, Identity: identity, Clock: clock}), clock}
}

// passes runs passes of all the replicas, an interval apart.
func passes(t *testing.T, count int, replicas ...replica) {
	t.Helper()
	for range count {
		for _, r := range replicas {
			r.clock.Step(r.interval())
			if err := r.pass(t.Context()); err != nil {
				t.Errorf("%s: %v", r.identity, err)
			}
		}
	}
}

func (r replica) sees(t *testing.T, what string, want ...string) {
	t.Helper()
	var got []string
	for _, peer := range r.Snapshot() {
		got = append(got, peer.ID)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s sees (-want +got):\n%s", what, r.identity, diff)
	}
}

func TestTheyFindEachOther(t *testing.T) {
	l := newLeases()
	a, b := newReplica(l, "a"), newReplica(l, "b")
	a.sees(t, "before it runs")
	passes(t, 1, a, b)
	a.sees(t, "before the others had time to read it")
	passes(t, 1, a, b)
	a.sees(t, "an interval later", "a", "b")
	b.sees(t, "an interval later", "a", "b")
	if !a.IsAlive("b") || a.IsAlive("a") || a.IsAlive("c") {
		t.Error("another lives than b")
	}
	c := newReplica(l, "c")
	passes(t, 1, a, b, c, a)
	a.sees(t, "one has come", "a", "b", "c")
	c.sees(t, "it has come just now")
}

func TestWhoDoesNotRenewIsDeadWhateverItsClockSays(t *testing.T) {
	for name, theirs := range map[string]time.Duration{"the same": 0, "years ahead": 90000 * time.Hour, "years behind": -90000 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			l := newLeases()
			a, b := newReplica(l, "a"), newReplica(l, "b")
			b.clock.Step(theirs)
			passes(t, 3, a, b)
			a.sees(t, "both live", "a", "b")
			passes(t, intervals, a)
			a.sees(t, "one has not renewed for less than the duration", "a", "b")
			passes(t, 1, a)
			a.sees(t, "one has not renewed for the duration", "a")
			passes(t, 1, b, a)
			a.sees(t, "it was only slow", "a", "b")
		})
	}
}

// At first, a replica cannot know that a Lease belongs to a dead replica.
func TestWhoIsSeenForTheFirstTimeLives(t *testing.T) {
	l := newLeases()
	dead, a := newReplica(l, "dead"), newReplica(l, "a")
	passes(t, 3, dead)
	passes(t, 2, a)
	a.sees(t, "it was seen just now", "a", "dead")
	passes(t, intervals, a)
	a.sees(t, "it has not changed since", "a")
	if len(l.all) != 2 {
		t.Error("its Lease was deleted before long")
	}
	passes(t, forgotten*intervals, a)
	if len(l.all) != 1 {
		t.Error("its Lease is never deleted")
	}
}

func TestWhoCannotSayThatItLivesOwnsNothing(t *testing.T) {
	for _, verb := range []string{"update", "list"} {
		t.Run(verb, func(t *testing.T) {
			l := newLeases()
			a := newReplica(l, "a")
			passes(t, 3, a)
			l.fail = func(asked string) error {
				if asked == verb {
					return errors.New("away")
				}
				return nil
			}
			for range 4 {
				a.clock.Step(a.interval())
				if err := a.pass(t.Context()); err == nil {
					t.Error("nothing has failed")
				}
			}
			a.sees(t, "for four of the six intervals", "a")
			a.clock.Step(a.interval())
			a.sees(t, "before the others take it for dead")
			l.fail = nil
			passes(t, 1, a)
			if verb == "list" {
				a.sees(t, "it reads again", "a")
				return
			}
			a.sees(t, "it has just said so again")
			passes(t, 1, a)
			a.sees(t, "an interval later", "a")
		})
	}
}

// After an outage of the API server nobody has renewed, but nobody counts as dead.
func TestWhatCouldNotBeSeenDoesNotCount(t *testing.T) {
	l := newLeases()
	a, b := newReplica(l, "a"), newReplica(l, "b")
	passes(t, 3, a, b)
	l.fail = func(string) error { return errors.New("away") }
	for range 4 * intervals {
		a.clock.Step(a.interval())
		_ = a.pass(t.Context())
	}
	l.fail = nil
	passes(t, 2, a)
	a.sees(t, "it is back, before b is", "a", "b")
	passes(t, intervals, a)
	a.sees(t, "b does not come back", "a")
}

func TestALeaseThatSomebodyHasDeletedOrChangedIsWrittenAgain(t *testing.T) {
	l := newLeases()
	a, b := newReplica(l, "a"), newReplica(l, "b")
	passes(t, 2, a, b)
	delete(l.all, a.name())
	a.clock.Step(a.interval())
	if err := a.pass(t.Context()); err == nil {
		t.Error("it did not notice")
	}
	passes(t, 1, a, b)
	b.sees(t, "it was deleted", "a", "b")
	l.store(l.all[a.name()])
	a.clock.Step(a.interval())
	_ = a.pass(t.Context())
	passes(t, 1, a)
	a.sees(t, "it was changed", "a", "b")
}

func TestAPassIsTwoRequests(t *testing.T) {
	l := newLeases()
	a := newReplica(l, "a")
	passes(t, 1, a)
	l.requests = nil
	passes(t, 1, a)
	if diff := cmp.Diff([]string{"update", "list"}, l.requests); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhoEndsDeletesItsLease(t *testing.T) {
	l := newLeases()
	r := NewRegistry(RegistryOptions{Leases: l, Identity: "a"})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
	if len(l.all) != 0 || !slices.Contains(l.requests, "create") {
		t.Errorf("after %v there are %v", l.requests, l.all)
	}
	if got := r.Snapshot(); got != nil {
		t.Errorf("it has left and sees %v", got)
	}
}

func TestLease(t *testing.T) {
	r := NewRegistry(RegistryOptions{Identity: "manager-0_1234"})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	made := r.lease(nil, at)
	if made.Name != "spillway-replica-"+strings.TrimPrefix(made.Name, "spillway-replica-") || *made.Spec.HolderIdentity != "manager-0_1234" || *made.Spec.LeaseDurationSeconds != 9 {
		t.Errorf("made as %+v", made)
	}
	renewed := r.lease(made, at.Add(time.Minute))
	if !renewed.Spec.AcquireTime.Equal(made.Spec.AcquireTime) || renewed.Spec.RenewTime.Equal(made.Spec.RenewTime) {
		t.Errorf("renewed as %+v", renewed.Spec)
	}
	if other := NewRegistry(RegistryOptions{Identity: "manager-0_5678"}); other.name() == r.name() {
		t.Error("two replicas have one Lease")
	}
}
