// Package tiers says for a pod which tiers of spec.overflow it may use, since when, and why it is not in those before
// its own. The commands status, explain and ui use it.
package tiers

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
)

// Here is the consumer's own nodes as a place.
const Here = "here"

// Tier is a tier of spec.overflow. Of fills the first three fields, and Tried the others, for one pod.
type Tier struct {
	// Number is counted from 0, as in the annotation of pods.
	Number int `json:"number"`
	// Places are its places: clusterIDs, or Here.
	Places []string `json:"places"`
	// After is how long the scheduler must find no room in the tiers before; empty for the default.
	After string `json:"after,omitempty"`
	// Open says that the pod may use the tier, and At since when. First is open from the beginning. At is empty, too,
	// if nobody has noted the time.
	Open  bool   `json:"open,omitempty"`
	First bool   `json:"first,omitempty"`
	At    string `json:"at,omitempty"`
	// Skipped says that a later tier is open, and this one was not opened.
	Skipped bool `json:"skipped,omitempty"`
	// Opens is when the tier opens if the scheduler finds no room before; empty if that is not known.
	Opens string `json:"opens,omitempty"`
	// HasPod says that the pod is on a node of the tier.
	HasPod bool `json:"hasPod,omitempty"`
	// Why says why the pod is not in the tier, or cannot get there now; empty if nothing keeps it away.
	Why string `json:"why,omitempty"`
}

// Of returns the tiers of an offloading. The status says which providers are in them.
func Of(nso *v1alpha1.NamespaceOffloading) []Tier {
	var all []Tier
	for i, one := range resolved(nso) {
		tier := Tier{Number: i, Places: append([]string{}, one.Clusters...)}
		if one.Local {
			tier.Places = []string{Here}
		}
		if after := nso.Spec.Overflow[i].After; after != nil {
			tier.After = after.Duration.String()
		}
		all = append(all, tier)
	}
	return all
}

// With returns the number of the tier that has a provider, or nil.
func With(nso *v1alpha1.NamespaceOffloading, clusterID string) *int {
	if i := spill.Of(resolved(nso), clusterID); i >= 0 {
		return &i
	}
	return nil
}

// resolved returns the tiers as the manager knows them.
func resolved(nso *v1alpha1.NamespaceOffloading) []spill.Tier {
	var all []spill.Tier
	for i := range nso.Spec.Overflow {
		step := &nso.Spec.Overflow[i]
		tier := spill.Tier{Local: step.Local, After: spill.DefaultAfter}
		if step.After != nil {
			tier.After = step.After.Duration
		}
		if !step.Local && i < len(nso.Status.Overflow) {
			tier.Clusters = nso.Status.Overflow[i].Clusters
		}
		all = append(all, tier)
	}
	return all
}

// Tried returns the tiers of an offloading, and what is known about each for one pod; nil if they do not matter for it.
// events are about the pod. With a zero now, nothing is said about when a tier opens.
func Tried(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading, events []corev1.Event, now time.Time) []Tier {
	if nso == nil || len(nso.Spec.Overflow) == 0 || eviction.IsDaemonSetPod(pod) {
		return nil
	}
	t := trial{pod: pod, nso: nso, events: events, tiers: resolved(nso), waits: unscheduledpod.Waiting(pod)}
	all := Of(nso)
	first, last := spill.First(t.tiers), t.last(now)
	for i := range all {
		tier := &all[i]
		tier.HasPod = i == t.place()
		tier.At = at(t.waits.Opened, i)
		tier.Open = i <= last && (tier.At != "" || t.tolerates(i))
		tier.First = tier.Open && i == first && tier.At == ""
		tier.Skipped = i < last && !tier.Open
		tier.Why = t.why(tier, last)
	}
	if opens, when := t.opens(now); opens >= 0 && !now.IsZero() {
		all[opens].Opens = when
	}
	return all
}

// at returns when a tier was opened, or "".
func at(opened spill.Opened, tier int) string {
	if i := slices.IndexFunc(opened, func(one spill.Opening) bool { return one.Tier == tier }); i >= 0 {
		return stamp(opened[i].At)
	}
	return ""
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// trial is one pod, and the tiers of its namespace.
type trial struct {
	pod    *corev1.Pod
	nso    *v1alpha1.NamespaceOffloading
	events []corev1.Event
	tiers  []spill.Tier
	waits  spill.Waiting
}

// place returns the tier of the pod's node, or -1.
func (t trial) place() int {
	if t.pod.Spec.NodeName == "" {
		return -1
	}
	if id := v1alpha1.ClusterIDOf(t.pod.Spec.NodeName); id != "" {
		return spill.Of(t.tiers, id)
	}
	return slices.IndexFunc(t.tiers, func(one spill.Tier) bool { return one.Local })
}

// last returns the last tier that the pod may use.
func (t trial) last(now time.Time) int {
	open := t.waits
	open.Since = time.Time{} // What is open now, not what may open.
	return max(spill.Next(t.tiers, open, now).Tier, t.place())
}

// tolerates reports whether the pod may use nodes of a tier.
func (t trial) tolerates(tier int) bool {
	return t.tiers[tier].Local || slices.ContainsFunc(t.tiers[tier].Clusters, func(id string) bool { return admission.Tolerates(t.pod, id) })
}

// opens returns the tier that opens next, and when; -1 if that is not known.
func (t trial) opens(now time.Time) (tier int, when string) {
	usable, _ := spill.Read(t.nso).Usable(unscheduledpod.Known(t.tiers, t.pod), t.nso.Namespace, spill.SizeOf(t.pod), now)
	next := spill.Next(usable, t.waits, now)
	tier = next.Tier + 1
	for tier < len(usable) && usable[tier].Empty() {
		tier++
	}
	if next.Wait == 0 || tier == len(usable) {
		return -1, ""
	}
	return tier, stamp(now.Add(next.Wait))
}
