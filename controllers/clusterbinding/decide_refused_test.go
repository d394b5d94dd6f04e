package clusterbinding

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

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
