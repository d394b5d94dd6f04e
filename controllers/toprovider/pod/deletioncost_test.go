package pod_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
)

// TestDeletionCost looks at the write of a pod's first status, and at those after it: the deletion cost of a tier goes
// with the first, and costs no write.
func TestDeletionCost(t *testing.T) {
	tier := func(n int) func(*snapshot) {
		return func(s *snapshot) { s.Tier = func(string) int { return n } }
	}
	costs := func(cost string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, corev1.PodDeletionCost, cost) }
	}
	for name, test := range map[string]struct {
		in   snapshot
		want string
	}{
		"no tiers":             {in(local(), remote(phase("Running"))), ""},
		"the first tier":       {in(local(), remote(phase("Running")), tier(0)), ""},
		"the second tier":      {in(local(), remote(phase("Running")), tier(1)), "-100"},
		"the third tier":       {in(local(), remote(phase("Running")), tier(2)), "-200"},
		"its user has set one": {in(local(costs("7")), remote(phase("Running")), tier(2)), "7"},
		"somebody removed it":  {in(local(started, phase("Pending")), remote(phase("Running")), tier(2)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan := decide.Next(fixture.Of(test.in), pod.Syncer{})
			if len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.PatchStatus {
				t.Fatalf("planned: %v", inWords(plan))
			}
			written := plan.Actions[0].Object.GetAnnotations()
			if got := written[corev1.PodDeletionCost]; got != test.want || written[v1alpha1.AnnotationRemoteUID] == "" {
				t.Errorf("the deletion cost is %q, want %q, of %v", got, test.want, written)
			}
		})
	}
	if _, sent := pod.ToRemote(local(costs("-100")), target, nil, nil).Annotations[corev1.PodDeletionCost]; sent {
		t.Error("the deletion cost is sent, which takes a write in the provider")
	}
}
