package podevent

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// warning returns an event as a kubelet writes it.
func warning(change ...func(*corev1.Event)) *corev1.Event {
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "remote", Name: "pod.1", UID: "event-uid", CreationTimestamp: metav1.NewTime(now)},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "remote", Name: "pod", UID: "pod-uid"},
		Type:           corev1.EventTypeWarning, Reason: "Failed", Message: "no such image", Count: 3,
		FirstTimestamp: metav1.NewTime(now.Add(-time.Minute)), LastTimestamp: metav1.NewTime(now),
	}
	for _, c := range change {
		c(event)
	}
	return event
}

func TestRead(t *testing.T) {
	target := Target{"Pod", types.NamespacedName{Namespace: "remote", Name: "pod"}, "pod-uid"}
	usual := Occurrence{
		ID: digest("event-uid"), Reason: "Failed", Message: "no such image", Count: 3, First: now.Add(-time.Minute), Last: now,
	}
	with := func(change func(*Occurrence)) Occurrence {
		o := usual
		change(&o)
		return o
	}
	tests := map[string]struct {
		event *corev1.Event
		want  Occurrence
	}{
		"of a kubelet": {warning(), usual},
		"of the scheduler, the first": {warning(func(e *corev1.Event) {
			e.Count, e.FirstTimestamp, e.LastTimestamp = 0, metav1.Time{}, metav1.Time{}
			e.EventTime = metav1.NewMicroTime(now.Add(-time.Hour))
		}), with(func(o *Occurrence) { o.Count, o.First, o.Last = 1, now.Add(-time.Hour), now.Add(-time.Hour) })},
		"of the scheduler, in a series": {warning(func(e *corev1.Event) {
			e.Count, e.FirstTimestamp, e.LastTimestamp = 0, metav1.Time{}, metav1.Time{}
			e.EventTime = metav1.NewMicroTime(now.Add(-time.Hour))
			e.Series = &corev1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(now.Add(time.Microsecond))}
		}), with(func(o *Occurrence) { o.Count, o.First = 7, now.Add(-time.Hour) })},
		"with nothing but its creation": {warning(func(e *corev1.Event) {
			e.Count, e.FirstTimestamp, e.LastTimestamp = -1, metav1.Time{}, metav1.Time{}
		}), with(func(o *Occurrence) { o.Count, o.First = 1, now })},
		"with times that nobody can write": {warning(func(e *corev1.Event) {
			e.FirstTimestamp, e.LastTimestamp = metav1.NewTime(time.Unix(-1e12, 0)), metav1.NewTime(time.Unix(1e12, 0))
		}), with(func(o *Occurrence) { o.First, o.Last = now, now })},
		"with what a terminal would obey": {warning(func(e *corev1.Event) {
			e.Reason, e.Message = "\x1b[31mRed", "a\nb\u202ec\xff"
		}), with(func(o *Occurrence) { o.Reason, o.Message = "[31mRed", "a b c\ufffd" })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			about, got, ok := Read(test.event, false)
			if !ok || about != target {
				t.Fatalf("about %v (%t), want %v", about, ok, target)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.ID != IDOf(test.event) {
				t.Errorf("the ID is %s, want %s", got.ID, IDOf(test.event))
			}
		})
	}
}

func TestReadBounds(t *testing.T) {
	for name, char := range map[string]string{"ASCII": "x", "four bytes": "\U0001F600"} {
		t.Run(name, func(t *testing.T) {
			_, got, _ := Read(warning(func(e *corev1.Event) {
				e.Reason, e.Message = strings.Repeat(char, 1e5), strings.Repeat(char, 1e6)
			}), false)
			if n := utf8.RuneCountInString(got.Reason); n != maxReason {
				t.Errorf("the reason has %d characters, want %d", n, maxReason)
			}
			if n := utf8.RuneCountInString(got.Message); n != maxMessage || !strings.HasSuffix(got.Message, "…") {
				t.Errorf("the message has %d characters and ends in %q, want %d and …", n, got.Message[len(got.Message)-3:], maxMessage)
			}
			if exactly := strings.Repeat(char, maxMessage); bounded(exactly, maxMessage) != exactly {
				t.Errorf("what is just as long as it may be is cut")
			}
		})
	}
}

func TestReadIgnores(t *testing.T) {
	tests := map[string]func(*corev1.Event){
		"what is normal":                   func(e *corev1.Event) { e.Type = corev1.EventTypeNormal },
		"what is in another namespace":     func(e *corev1.Event) { e.Namespace = "elsewhere" },
		"what is about nothing by name":    func(e *corev1.Event) { e.InvolvedObject.Name = "" },
		"what is about nothing by UID":     func(e *corev1.Event) { e.InvolvedObject.UID = "" },
		"names that nothing has":           func(e *corev1.Event) { e.InvolvedObject.Name = strings.Repeat("x", 254) },
		"UIDs that nothing has":            func(e *corev1.Event) { e.InvolvedObject.UID = types.UID(strings.Repeat("x", 65)) },
		"what is about the whole cluster":  func(e *corev1.Event) { e.InvolvedObject.Namespace, e.Namespace = "", "" },
		"namespaces that cannot be called": func(e *corev1.Event) { e.Namespace = strings.Repeat("x", 64); e.InvolvedObject.Namespace = e.Namespace },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			if target, _, ok := Read(warning(change), false); ok {
				t.Errorf("it is taken for a warning about %v", target)
			}
		})
	}
}

// TestReadAll: a normal event is read only if all are.
func TestReadAll(t *testing.T) {
	normal := warning(func(e *corev1.Event) { e.Type = corev1.EventTypeNormal })
	if _, got, ok := Read(normal, true); !ok || !got.Normal {
		t.Errorf("a normal event is read as %+v (%t)", got, ok)
	}
	if _, got, ok := Read(warning(), true); !ok || got.Normal {
		t.Errorf("a warning is read as %+v (%t)", got, ok)
	}
	elsewhere := warning(func(e *corev1.Event) { e.Type, e.Namespace = corev1.EventTypeNormal, "elsewhere" })
	if _, _, ok := Read(elsewhere, true); ok {
		t.Error("one in another namespace is read")
	}
}
