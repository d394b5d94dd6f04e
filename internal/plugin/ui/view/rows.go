package view

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

// layout is how times are sent to the page.
const layout = time.RFC3339

// The places of pods that are in no provider.
const (
	// Here is a node of the consumer.
	Here = tiers.Here
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
	Tiers []tiers.Tier  `json:"tiers,omitempty"`
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
			told := s.explain(pod)
			row.Waits, row.Tiers = told.Waits, told.Tiers
		}
		list.Rows = append(list.Rows, row)
	}
	return list
}

// tiers returns the tiers of all namespaces.
func (s *Snapshot) tiers() map[string][]tiers.Tier {
	all := map[string][]tiers.Tier{}
	for namespace, nso := range s.offloadings {
		if len(nso.Spec.Overflow) > 0 {
			all[namespace] = tiers.Of(nso)
		}
	}
	return all
}

// Details are what the page shows of one pod.
type Details struct {
	explain.Explanation
	// Version identifies what is known about the pod.
	Version string `json:"version"`
}

// Details adds what the snapshot knows to an explanation.
func (s *Snapshot) Details(e explain.Explanation) Details {
	return Details{Explanation: e, Version: s.Version(e.Namespace, e.Pod)}
}
