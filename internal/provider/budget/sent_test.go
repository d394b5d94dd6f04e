package budget

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestWhatWasSentIsCountedUntilItIsGone delivers answers and watch events in each order.
func TestWhatWasSentIsCountedUntilItIsGone(t *testing.T) {
	at := func(version string) *corev1.ConfigMap {
		object := copyOf("team", "settings", "")
		object.ResourceVersion = version
		return object
	}
	type step func(*Ledger)
	sent := func(version string) step { return func(l *Ledger) { l.Sent(at(version)) } }
	shown := func(version string) step { return func(l *Ledger) { l.note(at(version)) } }
	gone := func(l *Ledger) { l.drop(at("")) }
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
			l := NewLedger(Budget{}, func(err error) { t.Error(err) })
			l.Follow(at(""), func() string { return test.seen })
			for _, step := range test.steps {
				step(l)
			}
			l.settle()
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
	l := NewLedger(Budget{Objects: 1}, func(err error) { t.Error(err) })
	l.Follow(&corev1.ConfigMap{}, func() string { return "11" })
	for _, name := range []string{"first", "second"} {
		object := copyOf("team", name, "")
		object.ResourceVersion = "10"
		l.Sent(object)
	}
	if l.all.objects > 1 {
		t.Errorf("%d are counted", l.all.objects)
	}
}
