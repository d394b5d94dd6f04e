package autoscaler

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// about returns an event about a pod, whose name and UID are the same.
func about(pod, event, reason, message string) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team-eu", UID: types.UID(event)}, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "team-eu", Name: pod, UID: types.UID(pod)}}
}

// TestSaid has what autoscalers say, word for word.
func TestSaid(t *testing.T) {
	for name, test := range map[string]struct {
		reason, message string
		want            string
	}{
		"Cluster Autoscaler": {"NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached", "NotTriggerScaleUp: pod didn't trigger scale-up: 1 max node group size reached"},
		"GKE": {"FailedScaleUp", "Node scale up in zones us-central1-f associated with this pod failed: GCE out of resources. Pod is at risk of not being scheduled.",
			"FailedScaleUp: Node scale up in zones us-central1-f associated with this pod failed: GCE out of resources. Pod is at risk of not being scheduled."},
		"Karpenter":               {"FailedScheduling", `Failed to schedule pod, all available instance types exceed limits for nodepool: "default"`, `FailedScheduling: Failed to schedule pod, all available instance types exceed limits for nodepool: "default"`},
		"the scheduler":           {"FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.", ""},
		"Cluster Autoscaler: yes": {"TriggeredScaleUp", "pod triggered scale-up: [{eks-pool 0->1 (max: 3)}]", ""},
		"Karpenter: yes":          {"Nominated", "Pod should schedule on: nodeclaim/default-x", ""},
	} {
		if got := said(about("web", "1", test.reason, test.message)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	of := about("web", "1", "NotTriggerScaleUp", "")
	if of.InvolvedObject.Kind = "CapacityBuffer"; said(of) != "" {
		t.Error("what is said of another kind counts")
	}
}

// TestWant counts requests: none before somebody wants the events, then a list and a watch of each kind, which end.
func TestWant(t *testing.T) {
	var requests atomic.Int32
	began, ended := make(chan string), make(chan string)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		query := req.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		if query.Get("watch") == "" {
			_, _ = io.WriteString(w, `{"kind":"EventList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
			return
		}
		_ = http.NewResponseController(w).Flush()
		began <- query.Get("fieldSelector")
		<-req.Context().Done()
		ended <- query.Get("fieldSelector")
	}))
	defer provider.Close()
	all := func(from chan string) (of []string) {
		for range selectors {
			select {
			case selector := <-from:
				of = append(of, selector)
			case <-time.After(time.Minute):
				t.Fatalf("of the watches, there are only %q", of)
			}
		}
		slices.Sort(of)
		return of
	}
	a := New(&rest.Config{Host: provider.URL}, provider.Client())
	a.Want(t.Context(), false, nil)
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests, although nobody wants the events", n)
	}
	a.Want(t.Context(), true, nil)
	a.Want(t.Context(), true, nil)
	want := slices.Sorted(slices.Values(selectors))
	if diff := cmp.Diff(want, all(began)); diff != "" {
		t.Errorf("watched (-want +got)\n%s", diff)
	}
	a.Want(t.Context(), false, nil)
	if diff := cmp.Diff(want, all(ended)); diff != "" {
		t.Errorf("ended (-want +got)\n%s", diff)
	}
	if n := int(requests.Load()); n != 2*len(selectors) {
		t.Errorf("%d requests, want a list and a watch of each kind", n)
	}
}

// TestAnswers: an answer counts until its event is gone, and is told once.
func TestAnswers(t *testing.T) {
	var told []string
	to := &Answers{}
	to.Follow(t.Context(), func(pod types.NamespacedName) { told = append(told, pod.String()) })
	of := &answers{to: to, said: map[types.UID]answer{}}
	to.held = []*answers{of}
	no := func(pod, event, message string) *corev1.Event { return about(pod, event, "NotTriggerScaleUp", message) }
	for _, event := range []*corev1.Event{no("web", "1", "first"), no("web", "1", "again"), no("web", "2", "another"), no("db", "3", "no")} {
		if err := of.Add(event); err != nil {
			t.Fatal(err)
		}
	}
	if err := of.Delete(no("web", "1", "")); err != nil {
		t.Fatal(err)
	}
	if err := of.Delete(no("db", "3", "")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"team-eu/web", "team-eu/db"}, told); diff != "" {
		t.Errorf("told (-want +got)\n%s", diff)
	}
	name := types.NamespacedName{Namespace: "team-eu", Name: "web"}
	if web, db := to.Declined(name, "web"), to.Declined(name, "db"); web != "NotTriggerScaleUp: another" || db != "" {
		t.Errorf("of web: %q, of db: %q", web, db)
	}
	for reason, change := range map[string]func(*corev1.Event){
		"of a long UID":         func(e *corev1.Event) { e.InvolvedObject.UID = types.UID(strings.Repeat("x", 65)) },
		"with a long UID":       func(e *corev1.Event) { e.UID = types.UID(strings.Repeat("x", 65)) },
		"from another":          func(e *corev1.Event) { e.Namespace = "other" },
		"of a pod of no tenant": func(e *corev1.Event) { e.InvolvedObject.Name = strings.Repeat("x", 254) },
	} {
		event := no("new", "4", "")
		if change(event); put(of.said, event) {
			t.Errorf("one %s is held", reason)
		}
	}
	to.ours = func(namespace string) bool { return namespace == "ours" }
	if err := of.Add(no("tenant", "5", "")); err != nil || len(of.said) != 1 {
		t.Errorf("what is said about other tenants' pods is held: %v, %v", of.said, err)
	}
	for n := range mostAnswers + 1 {
		put(of.said, no(string(rune(n+1)), "e", ""))
	}
	if len(of.said) != mostAnswers {
		t.Errorf("%d answers are held", len(of.said))
	}
}
