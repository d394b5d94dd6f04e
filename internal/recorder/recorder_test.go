package recorder

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
)

// written has the requests that would be sent.
type written chan string

func (w written) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	w <- fmt.Sprintf("create %s %s %s: %s", e.Regarding.Name, e.Reason, e.Action, e.Note)
	return e, nil
}

func (w written) Update(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	w <- "update"
	return e, nil
}

func (w written) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	w <- fmt.Sprintf("count %s %s: %s", e.Regarding.Name, e.Reason, e.Note)
	return e, nil
}

// TestNotes: another note is another event, also if nothing has changed about the object. The same note is counted, and costs
// at most one request.
func TestNotes(t *testing.T) {
	requests := make(written, 100)
	caster := broadcaster(requests)
	if err := caster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer caster.Shutdown()
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: "uid", ResourceVersion: "1"}}
	}
	r := &recorder{to: caster.NewRecorder(scheme.Scheme, "test")}
	for i, step := range []struct {
		pod, reason, note string
		want              string // The request, if there is one.
	}{
		{"a", "Full", "until 12:05", "create a Full Add: until 12:05"},
		{"a", "None", "no tier", "create a None Add: no tier"},
		{"a", "Full", "until 12:16", "create a Full Add: until 12:16"},
		{"a", "Full", "until 12:16", "count a Full: until 12:16"},
		{"a", "Full", "until 12:16", ""},
		{"b", "Full", "until 12:16", "create b Full Add: until 12:16"},
		{"a", "None", "no tier", "count a None: no tier"},
		{"a", "Full", "until 12:05", "create a Full Add: until 12:05"}, // It is so again.
	} {
		r.Eventf(pod(step.pod), nil, corev1.EventTypeNormal, step.reason, "Add", "%s", step.note)
		if step.want == "" {
			continue
		}
		select {
		case got := <-requests:
			if got != step.want {
				t.Errorf("step %d: %q, want %q", i, got, step.want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("step %d: no request, want %q", i, step.want)
		}
	}
}

// TestForgets: what is remembered has a bound.
func TestForgets(t *testing.T) {
	recorded := events.NewFakeRecorder(most + 2)
	r := &recorder{to: recorded}
	for i := range most + 1 {
		r.Eventf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}, nil, corev1.EventTypeNormal, "Full", "Add", "%d %%", i)
	}
	var last []string
	for len(recorded.Events) > 0 {
		last = append(last, <-recorded.Events)
	}
	if diff := cmp.Diff("Normal Full 4096 %", last[len(last)-1]); diff != "" || len(r.told) != 1 || len(slices.Compact(last)) != most+1 {
		t.Errorf("%d notes are remembered (-want +got):\n%s", len(r.told), diff)
	}
}
