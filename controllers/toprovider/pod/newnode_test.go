package pod_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
)

// TestNoNewNode: the condition of a pod says once that the autoscaler of the provider starts no node for it, and that the
// provider has no node for such pods at all.
func TestNoNewNode(t *testing.T) {
	const notTriggered = "NotTriggerScaleUp: none"
	const no = "NoNewNode: the autoscaler of provider eu starts no node for pod team-home/web: " + notTriggered + "; its scheduler says: 0/2 nodes are available"
	was := func(reason string) []func(*corev1.Pod) { return []func(*corev1.Pod){hasSaid("False", reason)} }
	for name, test := range map[string]struct {
		local    []func(*corev1.Pod)
		declined string
		none     bool
		tooBig   bool
		want     string
	}{
		"it says so at once":        {nil, notTriggered, false, false, no},
		"it says so later":          {was(v1alpha1.ReasonUnschedulable), notTriggered, false, false, no},
		"it has said so":            {was(v1alpha1.ReasonNoNewNode), notTriggered, false, false, "NoNewNode: old"},
		"its event has expired":     {was(v1alpha1.ReasonNoNewNode), "", false, false, "NoNewNode: old"},
		"it says nothing":           {nil, "", false, false, ""},
		"its group has no node":     {was(v1alpha1.ReasonUnschedulable), "", true, false, "Unschedulable: the scheduler of provider eu finds no node for pod team-home/web: it has no node for such pods yet; 0/2 nodes are available"},
		"its group gets none, then": {nil, notTriggered, true, false, "NoNewNode: the autoscaler of provider eu starts no node for pod team-home/web: " + notTriggered + "; its scheduler says: it has no node for such pods yet; 0/2 nodes are available"},
		"no node is large enough":   {nil, notTriggered, false, true, "TooBig: pod team-home/web is too big for each node of provider eu that it may run on: it requests too much; its scheduler says: 0/2 nodes are available"},
		"it was too big before":     {was(v1alpha1.ReasonTooBig), notTriggered, false, true, "TooBig: old"},
	} {
		t.Run(name, func(t *testing.T) {
			s := in(local(append([]func(*corev1.Pod){started}, test.local...)...), remote(phase("Pending"), saysUnschedulable("0/2 nodes are available"), func(p *corev1.Pod) {
				p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now)
			}))
			s.NewNode = func(*corev1.Pod, field.Group) (string, bool) { return test.declined, test.none }
			if test.tooBig {
				s.TooBig = func(*corev1.Pod) (string, bool) { return "it requests too much", true }
			}
			status := s.Local.Status
			for _, a := range decide.Next(fixture.Of(s), pod.Syncer{}).Actions {
				status = a.Object.(*corev1.Pod).Status
			}
			got := ""
			for _, c := range status.Conditions {
				if c.Type == v1alpha1.PodOffloaded {
					got = c.Reason + ": " + c.Message
				}
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
