package podevent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func localPod(name string) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "local", Name: name, UID: "local-uid"}
}

func snapshot(reported ...Occurrence) Snapshot {
	return Snapshot{
		Now: now, ClusterID: "eu", Node: "spillway-eu", Local: localPod("pod"), Reported: reported,
		Shown: map[string]*corev1.Event{}, Waits: map[string]time.Duration{},
	}
}

// showing returns the snapshot after these occurrences have been written.
func (s Snapshot) showing(shown ...Occurrence) Snapshot {
	for _, o := range shown {
		s.Shown[s.Name(o)] = s.event(s.Name(o), o)
	}
	return s
}

func (s Snapshot) ahead(by time.Duration) Snapshot {
	s.ClockSkew = by
	return s
}

func (s Snapshot) waiting(o Occurrence, wait time.Duration) Snapshot {
	s.Waits[s.Name(o)] = wait
	return s
}

func failed(id string, count int32, ago time.Duration) Occurrence {
	return Occurrence{ID: id, Reason: "Failed", Message: "message of " + id, Count: count, First: now.Add(-time.Hour), Last: now.Add(-ago)}
}

// usual returns a normal event.
func usual(id string) Occurrence {
	o := failed(id, 1, 0)
	o.Reason, o.Normal = "Started", true
	return o
}

// many returns n occurrences, the most recent first.
func many(n int) []Occurrence {
	var all []Occurrence
	for i := range n {
		all = append(all, failed(fmt.Sprint("o", i), 1, time.Duration(i)*time.Second))
	}
	return all
}

func TestDecide(t *testing.T) {
	a, b := failed("a", 1, time.Second), failed("b", 1, time.Minute)
	more := failed("a", 5, 0)
	reworded := a
	reworded.Message = "another"
	later := a
	later.Last = now
	renamed := a
	renamed.Reason = "Other"
	tests := map[string]struct {
		snapshot       Snapshot
		create, update []string
		retry          time.Duration
	}{
		"nothing is reported":                {snapshot: snapshot()},
		"what is new is shown":               {snapshot: snapshot(a, b), create: []string{"a", "b"}},
		"what is shown is not written":       {snapshot: snapshot(a, b).showing(a, b)},
		"a count is followed":                {snapshot: snapshot(more).showing(a), update: []string{"a"}},
		"a count is followed when it may be": {snapshot: snapshot(more).showing(a).waiting(a, 7*time.Second), retry: 7 * time.Second},
		"the soonest wait counts": {
			snapshot: snapshot(a, b).waiting(a, 9*time.Second).waiting(b, 3*time.Second), retry: 3 * time.Second},
		"the soonest wait counts, if it is the first": {
			snapshot: snapshot(a, b).waiting(a, 3*time.Second).waiting(b, 9*time.Second), retry: 3 * time.Second},
		"another reason is followed":         {snapshot: snapshot(renamed).showing(a), update: []string{"a"}},
		"what is shown waits for nothing":    {snapshot: snapshot(a).showing(a).waiting(a, time.Minute)},
		"other words are followed":           {snapshot: snapshot(reworded).showing(a), update: []string{"a"}},
		"a time alone is no reason to write": {snapshot: snapshot(later).showing(a)},
		"what is old is not shown":           {snapshot: snapshot(failed("a", 1, stale+time.Second), failed("b", 1, stale)), create: []string{"b"}},
		"old by a clock that is behind":      {snapshot: snapshot(failed("a", 1, time.Hour)).ahead(-time.Hour), create: []string{"a"}},
		"new by a clock that is ahead":       {snapshot: snapshot(failed("a", 1, -time.Second)).ahead(time.Hour)},
		"what is old and shown is followed":  {snapshot: snapshot(failed("a", 2, 2*stale)).showing(a), update: []string{"a"}},
		"what is gone there stays":           {snapshot: snapshot().showing(a)},
		"the most recent are shown": {snapshot: snapshot(many(12)...),
			create: []string{"o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9"}},
		"what is shown already takes its room":   {snapshot: snapshot(a, b).showing(many(9)...), create: []string{"a"}},
		"nothing is shown where no room is":      {snapshot: snapshot(a, b).showing(many(10)...)},
		"a normal event":                         {snapshot: snapshot(usual("n")), create: []string{"n"}},
		"the last normal one":                    {snapshot: snapshot(usual("n")).showing(many(4)...), create: []string{"n"}},
		"the rest is for warnings":               {snapshot: snapshot(usual("n")).showing(many(5)...)},
		"who still have it":                      {snapshot: snapshot(a, usual("n")).showing(many(5)...), create: []string{"a"}},
		"a normal one that is shown is followed": {snapshot: snapshot(usual("n")).showing(append(many(9), Occurrence{ID: "n", Normal: true})...), update: []string{"n"}},
		"no room is needed to follow":            {snapshot: snapshot(more).showing(append(many(9), a)...), update: []string{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Decide(test.snapshot)
			names := func(ids []string) []string {
				var all []string
				for _, id := range ids {
					all = append(all, test.snapshot.Name(Occurrence{ID: id}))
				}
				return all
			}
			var create, update []string
			for _, event := range plan.Create {
				create = append(create, event.Name)
			}
			for _, u := range plan.Update {
				update = append(update, u.After.Name)
				if u.Before.Name != u.After.Name {
					t.Errorf("%s is changed into %s", u.Before.Name, u.After.Name)
				}
			}
			if diff := cmp.Diff([][]string{names(test.create), names(test.update)}, [][]string{create, update}); diff != "" {
				t.Errorf("created and updated (-want +got)\n%s", diff)
			}
			if plan.RetryAfter != test.retry {
				t.Errorf("looks again after %s, want %s", plan.RetryAfter, test.retry)
			}
		})
	}
}

// TestNothingIsLeftToDo decides again after a plan was carried out.
func TestNothingIsLeftToDo(t *testing.T) {
	strange := Occurrence{ID: "strange", Count: 1, Last: now.Add(24 * time.Hour)} // No reason, and from tomorrow.
	s := snapshot(strange, failed("a", 4, time.Second))
	for _, event := range Decide(s).Create {
		s.Shown[event.Name] = event
	}
	s.Now = s.Now.Add(time.Hour)
	if plan := Decide(s); len(plan.Create)+len(plan.Update) > 0 || plan.RetryAfter > 0 {
		t.Errorf("left to do: %+v", plan)
	}
}

func TestEvent(t *testing.T) {
	o := failed("a", 4, time.Second)
	s := snapshot(o)
	got := Decide(s).Create[0]
	want := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "local", Name: s.Name(o)},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "local", Name: "pod", UID: "local-uid"},
		Type:           corev1.EventTypeWarning, Reason: "Failed", Message: "message of a", Count: 4,
		FirstTimestamp: metav1.NewTime(now.Add(-time.Hour)), LastTimestamp: metav1.NewTime(now.Add(-time.Second)),
		Source:              corev1.EventSource{Component: "spillway-eu"},
		ReportingController: "spillway", ReportingInstance: "eu",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestChanged checks that an event follows the message, the count and the last time, and keeps the first
// time.
func TestChanged(t *testing.T) {
	a := failed("a", 1, time.Minute)
	next := Occurrence{ID: "a", Message: "another", Count: 7, First: now, Last: now.Add(-time.Second)} // Without a reason.
	s := snapshot(next).showing(a)
	want := s.Shown[s.Name(a)].DeepCopy()
	want.Reason, want.Message, want.Count, want.LastTimestamp = "Unknown", "another", 7, metav1.NewTime(now.Add(-time.Second))
	plan := Decide(s)
	if len(plan.Update) != 1 {
		t.Fatalf("got %v", plan)
	}
	if diff := cmp.Diff(want, plan.Update[0].After); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if unknown := s.event("x", Occurrence{ID: "x", Message: "m", Count: 1}); unknown.Reason != "Unknown" || !unknown.FirstTimestamp.Time.Equal(now) || !unknown.LastTimestamp.Time.Equal(now) {
		t.Errorf("of what says neither why nor when: %v", unknown)
	}
}

func TestTimesAreNotInTheFuture(t *testing.T) {
	got := Decide(snapshot(Occurrence{ID: "a", Count: 1, First: now.Add(time.Hour), Last: now.Add(time.Hour)})).Create[0]
	if !got.LastTimestamp.Time.Equal(now) || !got.FirstTimestamp.Time.Equal(now) {
		t.Errorf("first %s, last %s, want %s", got.FirstTimestamp, got.LastTimestamp, now)
	}
}

func TestNamesDiffer(t *testing.T) {
	base := snapshot()
	seen := map[string]string{}
	for what, name := range map[string]string{
		"one":              base.Name(failed("a", 1, 0)),
		"another event":    base.Name(failed("b", 1, 0)),
		"another provider": Snapshot{ClusterID: "us", Local: base.Local}.Name(failed("a", 1, 0)),
		"another pod": Snapshot{ClusterID: "eu", Local: corev1.ObjectReference{Name: "pod", UID: "later"}}.
			Name(failed("a", 1, 0)),
	} {
		if other, ok := seen[name]; ok {
			t.Errorf("%s has the name of %s, %s", what, other, name)
		}
		seen[name] = what
	}
	if one, same := base.Name(failed("a", 1, 0)), base.Name(failed("a", 9, time.Hour)); one != same {
		t.Errorf("the name changes with the event, from %s to %s", one, same)
	}
	long := Snapshot{ClusterID: "eu", Local: localPod(strings.Repeat("x", 199) + "-" + strings.Repeat("y", 53))}
	if name := long.Name(failed("a", 1, 0)); len(name) > 253 || strings.Contains(name, "-.") {
		t.Errorf("the name of a long pod's event is %s, of %d characters", name, len(name))
	}
}
