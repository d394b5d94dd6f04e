package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestMatters(t *testing.T) {
	pod := func(edits ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		for _, edit := range edits {
			edit(p)
		}
		return p
	}
	tests := map[string]struct {
		edit func(*corev1.Pod)
		want bool
	}{
		"its status":        {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, false},
		"its labels":        {func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, false},
		"it runs":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, false},
		"it ends":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"it goes":           {func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(builder.Epoch)) }, true},
		"its spec":          {func(p *corev1.Pod) { p.Generation++ }, true},
		"it is another one": {func(p *corev1.Pod) { p.UID = "2" }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := matters(pod(), pod(test.edit)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestProblems: those who follow problems are told only of those of a pod that is known, and nobody else is.
func TestProblems(t *testing.T) {
	r := New(nil)
	r.nodes["eu"] = &node{refused: map[types.NamespacedName]string{}}
	var told, changes int
	r.problems.handlers = append(r.problems.handlers, func(string, *corev1.Pod) { told++ })
	r.subscribe(func(Change) { changes++ })
	pod := func(conditions ...corev1.PodCondition) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: corev1.PodStatus{Conditions: conditions}}
	}
	rejected := corev1.PodCondition{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonRejected}
	later, ready := rejected, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	later.Message = "later"
	for i, step := range []struct {
		before, after *corev1.Pod
		told          int
	}{{pod(), pod(ready), 0}, {pod(), pod(rejected), 1}, {pod(rejected), pod(rejected, ready), 1}, {pod(rejected), pod(later), 2}, {pod(later), pod(), 3}} {
		r.podChanged("eu", informer.Change{Before: step.before, After: step.after})
		if told != step.told || changes != 0 {
			t.Errorf("step %d: told of %d problems and %d changes, want %d", i, told, changes, step.told)
		}
	}
}

func TestRefusalsAreNews(t *testing.T) {
	r := New(nil)
	r.nodes["eu"] = &node{refused: map[types.NamespacedName]string{}}
	var told int
	r.subscribe(func(change Change) {
		if change.Binding != "eu" || change.Pod == nil || change.Pod.Name != "web" {
			t.Errorf("told of %+v", change)
		}
		told++
	})
	web := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	for i, step := range []struct {
		binding, answer string
		told            int
	}{
		{"eu", "", 0}, {"eu", "no", 1}, {"eu", "no", 1}, {"eu", "never", 2}, {"eu", "", 3}, {"eu", "", 3}, {"us", "no", 3},
	} {
		r.NoteRefused(step.binding, web, step.answer)
		if told != step.told {
			t.Errorf("step %d: told %d times, want %d", i, told, step.told)
		}
		if got := r.refusals("eu")[types.NamespacedName{Namespace: "team", Name: "web"}]; step.binding == "eu" && got != step.answer {
			t.Errorf("step %d: it says %q, want %q", i, got, step.answer)
		}
	}
}

func TestRefusalsOfPodsThatWaitAreNews(t *testing.T) {
	r, web := New(nil), types.NamespacedName{Namespace: "team", Name: "web"}
	var told int
	r.waiting.handlers = append(r.waiting.handlers, func(namespace string) {
		if told++; namespace != "team" {
			t.Errorf("told of %s", namespace)
		}
	})
	for i, step := range []struct {
		answer string
		told   int
		want   string
	}{
		{"", 0, ""}, {"no, at 10:00", 1, "no, at 10:00"}, {"no, at 10:01", 1, "no, at 10:00"}, {"never", 2, "never"}, {"", 3, ""}, {"", 3, ""},
	} {
		answers := map[types.NamespacedName]string{}
		if step.answer != "" {
			answers[web] = step.answer
		}
		r.NoteWaiting("team", answers)
		if got := r.RefusedWaiting("team")[web]; got != step.want || told != step.told {
			t.Errorf("step %d: told %d times that %q", i, told, got)
		}
	}
	if len(r.waiting.refused) > 0 {
		t.Errorf("it still keeps %v", r.waiting.refused)
	}
}

func TestThoseWhoComeLateAreToldWhatIsKnown(t *testing.T) {
	r := New(nil)
	r.nodes["eu"], r.nodes["us"] = &node{full: true}, &node{}
	var told []Change
	r.subscribe(func(change Change) { told = append(told, change) })
	if len(told) != 1 || told[0] != (Change{Binding: "eu"}) {
		t.Errorf("told of %+v, want only of eu, whose view is full", told)
	}
}
