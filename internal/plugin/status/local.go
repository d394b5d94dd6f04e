package status

import (
	"fmt"
	"slices"
	"strings"
)

// Local is an offloaded namespace with pods on this cluster's own nodes.
type Local struct {
	Name string `json:"name"`
	// Tier is the number of the local tier, if the namespace has one.
	Tier *int `json:"tier,omitempty"`
	// Count is the number of pods, and Runs that of those which run, or have succeeded.
	Count int `json:"count"`
	Runs  int `json:"runs"`
	// pods are for the text.
	pods []Pod
}

// localOf counts the pods on this cluster's own nodes, by namespace.
func localOf(seen Seen) []Local {
	var all []Local
	for i := range seen.Local {
		pod := &seen.Local[i]
		at := slices.IndexFunc(all, func(l Local) bool { return l.Name == pod.Namespace })
		if at < 0 {
			at = len(all)
			all = append(all, Local{Name: pod.Namespace, Tier: seen.localTier(pod.Namespace)})
		}
		p := seen.podOf(pod)
		all[at].pods = append(all[at].pods, p)
		all[at].Count++
		if p.Runs {
			all[at].Runs++
		}
	}
	slices.SortFunc(all, func(a, b Local) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// localTier returns the number of a namespace's local tier, or nil.
func (s *Seen) localTier(namespace string) *int {
	for i := range s.Offloadings {
		if overflow := s.Offloadings[i].Spec.Overflow; s.Offloadings[i].Namespace == namespace && len(overflow) > 0 && overflow[0].Local {
			return new(int) // Only the first tier can be local.
		}
	}
	return nil
}

func (l Local) draw(in *branch, all bool) {
	title := "namespace " + l.Name
	if l.Tier != nil {
		title += fmt.Sprintf(", tier %d", *l.Tier)
	}
	sub := in.add(title + fmt.Sprintf(": %d of %d pods run, or have succeeded", l.Runs, l.Count))
	if all {
		for _, pod := range l.pods {
			sub.add(pod.text())
		}
	}
}
