package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestPending(t *testing.T) {
	tests := map[string]struct {
		change func(*Seen)
		want   []string
	}{
		"much": {func(*Seen) {}, []string{
			"provider us is not Ready; Connected Unreachable: no answer",
			"namespace team-a is not Ready; Ready InProgress: us is away",
			"pod team-a/big does not run; Unschedulable: no room",
			"pod team-a/lost does not run; spillway.io/Offloaded ReferenceNotFound: Secret a",
			"namespace team-a is not Ready; ProviderUnreachable",
		}},
		"the manager": {func(s *Seen) { *s = Seen{Waits: "no image"} }, []string{"the manager is not available: no image"}},
		"nothing": {func(s *Seen) {
			s.Bindings, s.Offloadings, s.Pods = s.Bindings[:1], nil, s.Pods[:2]
		}, nil},
		"nothing that may be read": {func(s *Seen) { *s = Seen{Hidden: []string{Bindings, Offloadings, Nodes, Pods, ManagerParts}} }, nil},
		"a DaemonSet": {func(s *Seen) {
			s.Bindings, s.Offloadings, s.Pods = s.Bindings[:1], nil, s.Pods[2:3]
			s.Pods[0].OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: ptr.To(true)}}
		}, nil},
		"a pod that has failed": {func(s *Seen) { *s = Seen{Available: true, Pods: []corev1.Pod{s.Pods[4]}} }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := world()
			test.change(&seen)
			if diff := cmp.Diff(test.want, Tree(seen).Pending()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
