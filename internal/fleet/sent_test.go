package fleet

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/provenance"
)

// TestWhatWasSentIsCountedUntilItIsGone delivers answers and watch events in each order.
func TestWhatWasSentIsCountedUntilItIsGone(t *testing.T) {
	at := func(version string) *corev1.ConfigMap {
		object := copyOf("team", "settings", "")
		object.ResourceVersion = version
		return object
	}
	type step func(*ledger)
	sent := func(version string) step { return func(l *ledger) { l.sent(at(version)) } }
	shown := func(version string) step { return func(l *ledger) { l.note(at(version)) } }
	gone := func(l *ledger) { l.drop(at("")) }
	for name, test := range map[string]struct {
		seen  string
		steps []step
		want  int64
	}{
		"on its way":                           {"9", []step{sent("10")}, 1},
		"before anything has been read":        {"", []step{sent("10")}, 1},
		"shown":                                {"10", []step{sent("10"), shown("10")}, 1},
		"shown before its answer":              {"10", []step{shown("10"), sent("10")}, 1},
		"shown and changed before its answer":  {"11", []step{shown("11"), sent("10")}, 1},
		"changed, on its way":                  {"10", []step{shown("10"), sent("11")}, 1},
		"changed, shown":                       {"11", []step{shown("10"), sent("11"), shown("11")}, 1},
		"gone":                                 {"11", []step{sent("10"), shown("10"), gone}, 0},
		"gone before its answer":               {"11", []step{shown("10"), gone, sent("10")}, 0},
		"gone in a gap of the watch":           {"12", []step{sent("10")}, 0},
		"made again after that":                {"12", []step{sent("10"), sent("13")}, 1},
		"with a version that is no number":     {"9", []step{sent("x")}, 1},
		"of a cache that is not at any number": {"x", []step{sent("10")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(Budget{}, func(err error) { t.Error(err) })
			l.follow(at(""), func() string { return test.seen })
			for _, step := range test.steps {
				step(l)
			}
			if why := l.exceeded("team", amount{}); why != "" {
				t.Error(why)
			}
			if l.all.objects != test.want || l.namespaces["team"].objects != test.want || len(l.kinds) != 1 {
				t.Errorf("%d are counted, %d of the namespace, want %d", l.all.objects, l.namespaces["team"].objects, test.want)
			}
			if test.want == 0 && l.all != (amount{}) {
				t.Errorf("something of it is left: %+v", l.all)
			}
		})
	}
}

// TestWhatHasGoneEndsNoSession even if the ledger was not asked meanwhile.
func TestWhatHasGoneEndsNoSession(t *testing.T) {
	l := newLedger(Budget{Objects: 1}, func(err error) { t.Error(err) })
	l.follow(&corev1.ConfigMap{}, func() string { return "11" })
	for _, name := range []string{"first", "second"} {
		object := copyOf("team", name, "")
		object.ResourceVersion = "10"
		l.sent(object)
	}
	if l.all.objects > 1 {
		t.Errorf("%d are counted", l.all.objects)
	}
}

// TestTheLedgerFollowsTheCaches of a real connection.
func TestTheLedgerFollowsTheCaches(t *testing.T) {
	c := admin(t)
	f, _ := startFleetWith(t, Kind{Object: &corev1.ConfigMap{}})
	f.Connect(target("follows", "1", providerUID))
	eventually(t, f, "follows", "is connected", connected)
	cl, err := f.Get(t.Context(), "follows")
	if err != nil {
		t.Fatal(err)
	}
	object := func(name string) *corev1.ConfigMap {
		mark := provenance.Mark{Origin: "consumer", ClusterID: "follows"}
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: mark.Labels()}}
	}
	gone := object("follows-gone")
	if err := c.Create(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), gone, client.Preconditions{UID: &gone.UID}); err != nil {
		t.Fatal(err)
	}
	stays := object("follows-stays")
	temporary(t, c, stays)
	ledger := cl.(*connectedCluster).ledger //nolint:forcetypeassert // It is what the fleet engages.
	Sent(cl, gone)
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		ledger.exceeded("", amount{})
		ledger.mu.Lock()
		defer ledger.mu.Unlock()
		counted := ledger.holding(gone).objects
		_, still := counted[client.ObjectKeyFromObject(gone)]
		_, shown := counted[client.ObjectKeyFromObject(stays)]
		return shown && !still, nil
	})
	if err != nil {
		t.Errorf("what has gone is counted still, or what is there is not: %v", err)
	}
}
