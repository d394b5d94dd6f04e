package clusterbinding

import (
	"slices"
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
	for node, want := range map[string]bool{"": true, s.Binding.VirtualNodeName(): true, "spillway-eu-gpu": true, "spillway-eu-spot": true, "spillway-other": false} {
		if got := s.concerns("patch nodes", node); got != want {
			t.Errorf("%s: got %v", node, got)
		}
	}
	for kind, want := range map[v1alpha1.ClassKind]bool{v1alpha1.ClassIngress: false, v1alpha1.ClassStorage: true} {
		s.Binding.Spec.Classes = []v1alpha1.ClassMapping{{Kind: kind, Name: "a"}}
		if got := s.concerns("create persistentvolumes", ""); got != want {
			t.Errorf("%s: volumes cannot be created, and got %v", kind, got)
		}
	}
}

// TestAdvice: against a missing right, no exemption helps, and against a policy no right.
func TestAdvice(t *testing.T) {
	const lacks, denied = `x is forbidden: User "m" cannot `, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
	const volumes, right, exempt = "ClusterRole spillway-volumes", "lacks a right", "exempt that account"
	for refused, want := range map[string][]string{
		lacks + `create resource "persistentvolumes" in API group ""`:            {volumes},
		lacks + `create resource "persistentvolumes" in API group ""; ` + denied: {volumes, exempt},
		lacks + `create resource "nodes" in API group ""`:                        {right},
		denied:                {exempt},
		"in words of another": {exempt},
	} {
		var got []string
		for _, part := range []string{volumes, right, exempt} {
			if strings.Contains(advice(refused), part) {
				got = append(got, part)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v", refused, got)
		}
	}
}
