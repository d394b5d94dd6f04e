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
	// ends says that the offloading is being deleted.
	ends bool
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
	s := State{ends: !offloading.DeletionTimestamp.IsZero()}
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
func (s State) String() string { return strings.Join(s.Lines(), "; ") }

// Lines returns what it waits for: what concerns no provider, or only one, and then a line for each other provider. What one of
// them says, no other repeats.
func (s State) Lines() []string {
	var lines []string
	own, several := map[string]string{}, false
	for _, wait := range s.Waits {
		message := wait.Message
		if wait.Type == v1alpha1.OffloadingReady {
			var rest string
			if rest, own = s.split(message); len(own) > 1 {
				message, several = rest, true
			}
		}
		lines = append(lines, Wait{Reason: wait.Reason, Message: message}.String())
	}
	said := strings.Join(lines, "; ")
	for _, remote := range s.Remotes {
		var parts []string
		if several && own[remote.Cluster] != "" {
			parts = append(parts, own[remote.Cluster])
		}
		if remote.Wait != nil && !s.repeats(remote.Wait, said, own[remote.Cluster]) {
			parts = append(parts, remote.Wait.String())
		}
		if len(parts) > 0 {
			lines = append(lines, "in "+remote.Cluster+": "+strings.Join(parts, "; "))
		}
	}
	return lines
}

// repeats reports whether the wait of a remote namespace says nothing that was not said before: own is what the summary says of
// its provider. While the offloading is being deleted, the summary also says which pods have to leave, and why they do not.
func (s State) repeats(wait *Wait, said, own string) bool {
	if s.ends && own != "" && wait.Reason == v1alpha1.ReasonClusterNotSelected {
		return true
	}
	return wait.Message != "" && (strings.Contains(said, wait.Message) || strings.Contains(own, wait.Message))
}

// split takes a message apart that says something of each provider, such as "evicting pods: eu: 1 pod; us: 2 pods".
func (s State) split(message string) (rest string, own map[string]string) {
	own = map[string]string{}
	var before []string
	current := ""
	for _, clause := range strings.Split(message, "; ") {
		general, cluster, text := s.begins(clause, current == "")
		switch {
		case cluster != "":
			current, own[cluster] = cluster, text
			before = append(before, general)
		case current == "":
			before = append(before, clause)
		default:
			own[current] += "; " + clause
		}
	}
	return strings.Join(nonEmpty(before...), "; "), own
}

// begins reports whether a clause begins what a message says of a provider. Before the first one, there may be a general text.
func (s State) begins(clause string, first bool) (general, cluster, text string) {
	at := len(clause)
	for _, remote := range s.Remotes {
		if text, is := strings.CutPrefix(clause, remote.Cluster+": "); is {
			return "", remote.Cluster, text
		}
		if i := strings.Index(clause, ": "+remote.Cluster+": "); first && i > 0 && i < at {
			at, general, cluster, text = i, clause[:i], remote.Cluster, clause[i+len(": "+remote.Cluster+": "):]
		}
	}
	return general, cluster, text
}
