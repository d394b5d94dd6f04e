package fleet

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/rights"
)

// watchedBy are the resources on demand that the connection of a binding watches.
func watchedBy(t *testing.T, f *Fleet, name string) (*informer.Demand, []string) {
	t.Helper()
	cl, err := f.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	demand, ok := cl.GetCache().(*informer.Demand)
	if !ok {
		t.Fatalf("the cache is a %T", cl.GetCache())
	}
	var resources []string
	for _, kind := range demand.Watched() {
		resources = append(resources, ResourceOf(kind))
	}
	return demand, resources
}

// need needs ConfigMaps of a connection, and waits until they can be read.
func need(t *testing.T, f *Fleet, name string) {
	t.Helper()
	demand, _ := watchedBy(t, f, name)
	then := make(chan struct{})
	readable, err := demand.Need(t.Context(), &corev1.ConfigMap{}, then, func() { close(then) })
	if err != nil {
		t.Fatal(err)
	}
	if readable {
		return
	}
	select {
	case <-then:
	case <-time.After(30 * time.Second):
		t.Fatal("what is needed is never read")
	}
}

// TestAKindIsWatchedWhenItIsNeeded, and by the next connection, too, though there is nothing of
// it: a write may still be on its way.
func TestAKindIsWatchedWhenItIsNeeded(t *testing.T) {
	f, _, _ := startLimited(t)
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	if _, watched := watchedBy(t, f, "eu"); len(watched) > 0 {
		t.Errorf("at first it watches %v, of which there is nothing", watched)
	}
	need(t, f, "eu")
	if _, watched := watchedBy(t, f, "eu"); !slices.Equal(watched, []string{"configmaps"}) {
		t.Errorf("when they are needed, it watches %v", watched)
	}
	last, _ := f.Get("eu")
	again := target("eu", "2", providerUID)
	again.Holder = f.State("eu").Holder // Its ClusterBinding remembers it.
	f.Connect(again)
	eventually(t, f, "eu", "is connected again", connected)
	if now, _ := f.Get("eu"); now == last {
		t.Fatal("it is the same connection")
	}
	if _, watched := watchedBy(t, f, "eu"); !slices.Equal(watched, []string{"configmaps"}) {
		t.Errorf("the next connection watches %v", watched)
	}
}

// TestARightThatIsMissingWhenAKindIsNeeded is known before anybody decides on what the cache
// shows.
func TestARightThatIsMissingWhenAKindIsNeeded(t *testing.T) {
	f, _, g := startLimited(t)
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	g.refuse("configmaps", true)
	need(t, f, "eu")
	cl, err := f.Get("eu")
	if err != nil {
		t.Fatal(err)
	}
	if got := cl.Rights.WhyUnreadable("configmaps"); got.Reason == "" {
		t.Error("ConfigMaps can be read, and there is no right to them")
	}
	g.refuse("configmaps", false)
	eventually(t, f, "eu", "can read ConfigMaps", limitedTo(""))
}

// TestAKindThatIsNotReadLimitsTheConnection until it is read.
func TestAKindThatIsNotReadLimitsTheConnection(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	missing := rights.New(clocktesting.NewFakeClock(now.Now()), nil) // Of its own: it is called while the other one steps.
	c := &caches{options: &Options{Clock: now, SyncTimeout: time.Minute}, rights: missing}
	c.opening(&corev1.Secret{})() // Read in time.
	read := c.opening(&corev1.ConfigMap{})
	now.Step(time.Minute)
	missing.Settle()
	if got, want := missing.All(), connection.RightMissing("list (there is no answer) configmaps"); got != want {
		t.Errorf("it lacks %q, want %q", got, want)
	}
	read()
	if got := missing.All(); got.Reason != "" {
		t.Errorf("it lacks %q after it has been read", got)
	}
}

// lateClock has timers that fire only when the test says so, even after they were stopped.
type lateClock struct {
	*clocktesting.FakeClock
	fire []func()
}

func (l *lateClock) AfterFunc(d time.Duration, fire func()) clock.Timer {
	l.fire = append(l.fire, fire)
	return l.NewTimer(d)
}

// TestAKindThatIsReadAtTheLastMoment is not reported, though its timer has fired already.
func TestAKindThatIsReadAtTheLastMoment(t *testing.T) {
	now := &lateClock{FakeClock: clocktesting.NewFakeClock(time.Unix(0, 0))}
	missing := rights.New(now, nil)
	c := &caches{options: &Options{Clock: now, SyncTimeout: time.Minute}, rights: missing}
	read := c.opening(&corev1.ConfigMap{})
	read()
	now.fire[0]()
	missing.Settle()
	if got := missing.All(); got.Reason != "" {
		t.Errorf("it lacks %q, and has been read", got)
	}
}

// TestTheNextConnectionFollowsOneThatHasEnded, even if that ended before anybody looked.
func TestTheNextConnectionFollowsOneThatHasEnded(t *testing.T) {
	f := New(Options{})
	f.Connect(target("eu", "1", ""))
	last := f.connections["eu"] // It has not been started, so it ends at once.
	f.Connect(target("eu", "2", ""))
	if next := f.connections["eu"]; next == last || next.previous != last {
		t.Errorf("the connection after %p follows %p", last, next.previous)
	}
}
