package status

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// State is what the status of a NamespaceOffloading says. status, explain and offload use it.
type State struct {
	Ready bool
	// Stuck says that nothing changes until somebody does something.
	Stuck bool
	// Waits are its conditions that show a problem.
	Waits   []Wait
	Remotes []Remote
}

// Remote is a remote namespace that is wanted, or still exists.
type Remote struct {
	Cluster, Namespace string
	Ready              bool
	// Wait says why it is not ready, or why it is going to be deleted.
	Wait *Wait
}

// StateOf returns the state of an offloading.
func StateOf(offloading *v1alpha1.NamespaceOffloading) State {
	var s State
	s.Ready, s.Waits = conditionsOf(offloading.Status.Conditions, offloading.Generation)
	phase := offloading.Status.OffloadingPhase
	s.Stuck = (phase == v1alpha1.OffloadingPhaseNoClusterSelected || phase == v1alpha1.OffloadingPhaseRefused) &&
		!slices.ContainsFunc(s.Waits, func(w Wait) bool { return w.Reason == notSeen })
	for _, one := range offloading.Status.RemoteNamespaceConditions {
		required, ready := meta.FindStatusCondition(one.Conditions, v1alpha1.RemoteNamespaceRequired), meta.FindStatusCondition(one.Conditions, v1alpha1.RemoteNamespaceReady)
		if ready == nil && (required == nil || required.Status != metav1.ConditionTrue) {
			continue
		}
		remote := Remote{Cluster: one.Cluster, Namespace: one.RemoteNamespace}
		for _, c := range []*metav1.Condition{ready, required} {
			if c != nil && c.Status != metav1.ConditionTrue && remote.Wait == nil {
				wait := NewWait("", c.Reason, c.Message)
				remote.Wait = &wait
			}
		}
		remote.Ready = ready != nil && remote.Wait == nil
		s.Remotes = append(s.Remotes, remote)
	}
	return s
}

// In returns the remote namespace in a provider, or nil.
func (s State) In(cluster string) *Remote {
	for i := range s.Remotes {
		if s.Remotes[i].Cluster == cluster {
			return &s.Remotes[i]
		}
	}
	return nil
}

// String returns everything that it waits for; empty if there is nothing.
func (s State) String() string {
	var parts []string
	for _, wait := range s.Waits {
		parts = append(parts, Wait{Reason: wait.Reason, Message: wait.Message}.String())
	}
	said := strings.Join(parts, "; ")
	for _, remote := range s.Remotes {
		if remote.Wait != nil && (remote.Wait.Message == "" || !strings.Contains(said, remote.Wait.Message)) {
			parts = append(parts, "in "+remote.Cluster+": "+remote.Wait.String())
		}
	}
	return strings.Join(parts, "; ")
}
