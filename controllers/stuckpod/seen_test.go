package stuckpod

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestSeen: a pod counts from when it was seen first, its owner is told each reason once, and nothing stays of a pod or a
// binding that is gone.
func TestSeen(t *testing.T) {
	var s seen
	eu := inventory.Request{Binding: "eu", NamespacedName: types.NamespacedName{Namespace: "team", Name: "web"}}
	us := inventory.Request{Binding: "us", NamespacedName: eu.NamespacedName}
	if s.early(us, true); s.has(us) || s.early(us, false) {
		t.Error("a pod that is not noted was early")
	}
	later := builder.Epoch.Add(time.Minute)
	s.first(us, "1", builder.Epoch)
	if s.early(us, false) || !s.early(us, true) || !s.early(us, false) {
		t.Error("it is not noted that a pod was early, or too soon")
	}
	for i, step := range []struct {
		uid     types.UID
		at      time.Time
		reason  string
		want    time.Time
		isTold  bool
		forgets func()
	}{
		{"1", builder.Epoch, "a", builder.Epoch, true, nil},
		{"1", later, "a", builder.Epoch, false, nil},
		{"1", later, "b", builder.Epoch, true, nil},
		{"2", later, "b", later, true, func() { s.forget(eu) }},
		{"2", builder.Epoch, "b", builder.Epoch, true, func() { s.forgetAll("eu") }},
	} {
		if got := s.first(eu, step.uid, step.at); got != step.want {
			t.Errorf("step %d: seen at %v, want %v", i, got, step.want)
		}
		if got := s.tell(eu, step.reason); got != step.isTold {
			t.Errorf("step %d: told: %v", i, got)
		}
		if step.forgets == nil {
			continue
		}
		if step.forgets(); s.has(eu) || !s.has(us) {
			t.Errorf("step %d: eu is known: %v, us: %v", i, s.has(eu), s.has(us))
		}
	}
}
