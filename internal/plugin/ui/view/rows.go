package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// layout is how times are sent to the page.
const layout = time.RFC3339

// The places of pods that are in no provider.
const (
	// Here is a node of the consumer.
	Here = "here"
	// Nowhere: the pod has no node.
	Nowhere = ""
)

// The states of pods.
const (
	runs      = "runs"
	waits     = "waits"
	failed    = "failed"
	succeeded = "succeeded"
)

// Row is one pod in the list.
type Row struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// Place is a clusterID, Here or Nowhere.
	Place string `json:"place"`
	State string `json:"state"`
	Since string `json:"since,omitempty"`
	Node  string `json:"node,omitempty"`
	// Waits are those of the command explain.
	Waits []status.Wait `json:"waits,omitempty"`
	Tiers []Tier        `json:"tiers,omitempty"`
}

// row adds the row of a pod.
func (s *Snapshot) row(namespace, place string, pod status.Pod) Row {
	row := Row{Namespace: namespace, Pod: pod.Name, Place: place, State: stateOf(pod)}
	if object := s.pods[types.NamespacedName{Namespace: namespace, Name: pod.Name}]; object != nil {
		row.Since, row.Node = object.CreationTimestamp.UTC().Format(layout), object.Spec.NodeName
	}
	s.Rows = append(s.Rows, row)
	return row
}

func stateOf(pod status.Pod) string {
	switch {
	case pod.Phase == string(corev1.PodFailed), pod.Phase == string(corev1.PodSucceeded) && !pod.Runs:
		return failed
	case pod.Phase == string(corev1.PodSucceeded):
		return succeeded
	case pod.Runs:
		return runs
	default:
		return waits
	}
}

// inOrder puts pods that wait for the longest first.
func inOrder(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod))
}

// Filter chooses pods. Empty fields choose all.
type Filter struct {
	Namespace, State string
	// Place is a clusterID, Here, or none for pods without a node.
	Place string
	// Name is a part of the pod's name.
	Name string
	From int
}

// none is Nowhere in a Filter.
const none = "none"

func (f Filter) takes(row Row) bool {
	place := cmp.Or(row.Place, none)
	return (f.Namespace == "" || f.Namespace == row.Namespace) && (f.State == "" || f.State == row.State) &&
		(f.Place == "" || f.Place == place) && strings.Contains(row.Pod, f.Name)
}

// List is a part of the list of pods.
type List struct {
	Rows []Row `json:"rows"`
	// From is the number of the first row, and Total how many there are.
	From  int `json:"from"`
	Total int `json:"total"`
	// Most is MostRows.
	Most int `json:"most"`
}

// MostRows is how many rows a List has at most.
const MostRows = 50

// List returns the rows that the filter chooses, with what they wait for.
func (s *Snapshot) List(f Filter) List {
	list := List{Rows: []Row{}, From: max(0, f.From), Most: MostRows}
	for _, row := range s.Rows {
		if !f.takes(row) {
			continue
		}
		list.Total++
		if list.Total <= list.From || len(list.Rows) == MostRows {
			continue
		}
		if pod := s.pods[types.NamespacedName{Namespace: row.Namespace, Name: row.Pod}]; pod != nil && row.State != runs {
			row.Waits, row.Tiers = s.explain(pod).Waits, s.tried(pod)
		}
		list.Rows = append(list.Rows, row)
	}
	return list
}

// Tier is a tier of spec.overflow.
type Tier struct {
	Number int `json:"number"`
	// Places are its places: clusterIDs, or Here.
	Places []string `json:"places"`
	// After is how long the scheduler must find no room in the tiers before; empty for the first tier.
	After string `json:"after,omitempty"`
	// Open says that the pod may use it, and At since when; empty if from the beginning.
	Open bool   `json:"open,omitempty"`
	At   string `json:"at,omitempty"`
}

// tiers returns the tiers of all namespaces.
func (s *Snapshot) tiers() map[string][]Tier {
	all := map[string][]Tier{}
	for namespace, nso := range s.offloadings {
		for i := range nso.Spec.Overflow {
			tier := Tier{Number: i, Places: []string{}}
			switch {
			case nso.Spec.Overflow[i].Local:
				tier.Places = []string{Here}
			case i < len(nso.Status.Overflow):
				tier.Places = append(tier.Places, nso.Status.Overflow[i].Clusters...)
			}
			if after := nso.Spec.Overflow[i].After; after != nil {
				tier.After = after.Duration.String()
			}
			all[namespace] = append(all[namespace], tier)
		}
	}
	return all
}

// tried says which tiers were opened for a pod, and when.
func (s *Snapshot) tried(pod *corev1.Pod) []Tier {
	tiers := slices.Clone(s.Page.Tiers[pod.Namespace])
	opened := spill.ParseOpened(pod.Annotations[v1alpha1.AnnotationOverflow])
	for i := range tiers {
		tiers[i].Open = i == 0
		for _, one := range opened {
			// A tier without providers is skipped: it opens with the next one.
			if one.Tier == i {
				tiers[i].At = one.At.UTC().Format(layout)
			}
			tiers[i].Open = tiers[i].Open || one.Tier >= i
		}
	}
	return tiers
}

// Details are what the page shows of one pod.
type Details struct {
	explain.Explanation
	Tiers []Tier `json:"tiers,omitempty"`
	// Version identifies what is known about the pod.
	Version string `json:"version"`
}

// Details adds what the snapshot knows to an explanation.
func (s *Snapshot) Details(e explain.Explanation) Details {
	d := Details{Explanation: e, Version: s.Version(e.Namespace, e.Pod)}
	if pod := s.pods[types.NamespacedName{Namespace: e.Namespace, Name: e.Pod}]; pod != nil {
		d.Tiers = s.tried(pod)
	}
	return d
}
