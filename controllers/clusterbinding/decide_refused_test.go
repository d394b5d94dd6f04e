package clusterbinding

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestWritesRefused(t *testing.T) {
	status := Decide(up(func(s *snapshot) { s.WritesRefused = "to create nodes as somebody: no" }))
	told := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingWritesRefused)
	if told == nil || told.Reason != v1alpha1.ReasonForbiddenHere || !strings.HasPrefix(told.Message, "this cluster refuses the manager to create nodes as somebody: no: ") {
		t.Errorf("the binding says %+v", told)
	}
	if news := eventsOf(nil, status.Conditions); !strings.Contains(news[1].Message, "refuses the manager") || news[1].Type != "Warning" {
		t.Errorf("the events are %+v", news)
	}
	status = Decide(up(func(s *snapshot) { s.Binding.Status = status }))
	if told = meta.FindStatusCondition(status.Conditions, v1alpha1.BindingWritesRefused); told != nil {
		t.Errorf("nothing is refused, and the binding says %+v", told)
	}
}

// TestConcerns: a binding shows refused writes to its own nodes only, also to one that is not there yet, or any more.
func TestConcerns(t *testing.T) {
	s := up(func(s *snapshot) {
		s.Virtual = []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "spillway-eu-gpu"}}}
		s.Binding.Status.VirtualNodes = []v1alpha1.VirtualNodeStatus{{Name: "spillway-eu-spot"}}
	})
	for node, want := range map[string]bool{s.Binding.VirtualNodeName(): true, "spillway-eu-gpu": true, "spillway-eu-spot": true, "spillway-other": false} {
		if got := s.concerns(node); got != want {
			t.Errorf("%s: got %v", node, got)
		}
	}
}
