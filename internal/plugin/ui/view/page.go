package view

import (
	"cmp"
	"slices"

	"github.com/spillway-io/spillway/internal/plugin/hosted"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

// Page is what the page shows, except for the list of pods. Its size depends on how many providers and namespaces
// there are, and not on how many pods.
type Page struct {
	Where     string   `json:"where"`
	Namespace string   `json:"namespace,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	// Manager is nil if the user may not read whether it is available.
	Manager   *status.Manager `json:"manager,omitempty"`
	Pods      Counts          `json:"pods"`
	Providers []Provider      `json:"providers"`
	Local     []Namespace     `json:"local"`
	// Unplaced are namespaces with pods that have no node.
	Unplaced []Namespace `json:"unplaced"`
	// Tiers are the tiers of each namespace that has some.
	Tiers  map[string][]tiers.Tier `json:"tiers,omitempty"`
	Hosted []hosted.Page           `json:"hosted,omitempty"`
}

// Counts are the pods of one place, by state.
type Counts struct {
	Runs      int `json:"runs"`
	Waits     int `json:"waits"`
	Failed    int `json:"failed"`
	Succeeded int `json:"succeeded"`
}

func (c *Counts) add(state string) {
	switch state {
	case runs:
		c.Runs++
	case failed:
		c.Failed++
	case succeeded:
		c.Succeeded++
	default:
		c.Waits++
	}
}

func (c *Counts) plus(more Counts) {
	c.Runs += more.Runs
	c.Waits += more.Waits
	c.Failed += more.Failed
	c.Succeeded += more.Succeeded
}

// Provider is a provider with its virtual nodes and its namespaces.
type Provider struct {
	ID string `json:"id"`
	// Name is the name of the ClusterBinding; empty if the user may not read it.
	Name    string `json:"name,omitempty"`
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Version string `json:"version,omitempty"`
	// LastKnown is when a provider that cannot be reached last answered.
	LastKnown  string        `json:"lastKnown,omitempty"`
	Waits      []status.Wait `json:"waits,omitempty"`
	Conditions []Condition   `json:"conditions,omitempty"`
	// Quota says how much of each item of spec.quota is used.
	Quota      []string    `json:"quota,omitempty"`
	Nodes      []Node      `json:"nodes"`
	Namespaces []Namespace `json:"namespaces"`
	Pods       Counts      `json:"pods"`
}

// Namespace is a namespace in one place.
type Namespace struct {
	Name   string `json:"name"`
	Remote string `json:"remote,omitempty"`
	Ready  bool   `json:"ready"`
	// NotOffloaded says that the namespace is not offloaded there.
	NotOffloaded bool          `json:"notOffloaded,omitempty"`
	Waits        []status.Wait `json:"waits,omitempty"`
	Pods         Counts        `json:"pods"`
}

// draw fills the page and the rows.
func (s *Snapshot) draw(seen status.Seen) {
	s.Page = Page{
		Where: s.objects.Where, Namespace: s.objects.Namespace, Notes: s.objects.Notes, Hosted: s.objects.Hosted, Manager: s.objects.Manager,
		Providers: []Provider{}, Local: []Namespace{}, Unplaced: []Namespace{}, Tiers: s.tiers(),
	}
	s.Places = map[string]map[string]int{}
	used := s.used()
	tree := status.Tree(seen)
	for _, binding := range tree.Bindings {
		s.Page.Providers = append(s.Page.Providers, s.provider(binding, used))
	}
	slices.SortFunc(s.Page.Providers, func(a, b Provider) int { return cmp.Compare(a.ID, b.ID) })
	for _, one := range tree.Unplaced {
		s.Page.Unplaced = append(s.Page.Unplaced, s.namespace(one, Nowhere))
	}
	s.Page.Local = s.local(seen)
	slices.SortFunc(s.Page.Unplaced, byName)
	slices.SortFunc(s.Rows, inOrder)
	for _, row := range s.Rows {
		s.Page.Pods.add(row.State)
		if row.State == runs || row.State == waits {
			if s.Places[row.Namespace] == nil {
				s.Places[row.Namespace] = map[string]int{}
			}
			s.Places[row.Namespace][row.Place]++
		}
	}
}

func byName(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) }

func (s *Snapshot) provider(binding status.Binding, used map[string]*usage) Provider {
	p := Provider{
		ID: binding.ClusterID, Name: binding.Name, Ready: binding.Ready, Reason: binding.Reason, Version: binding.Version, LastKnown: binding.LastKnown,
		Waits: binding.Waits, Conditions: conditionsOf(s.objects.Bindings, binding.Name), Quota: binding.Quota, Nodes: []Node{}, Namespaces: []Namespace{},
	}
	nodes := binding.Groups
	if binding.Node != nil {
		nodes = append([]status.Node{*binding.Node}, nodes...)
	}
	for _, node := range nodes {
		p.Nodes = append(p.Nodes, nodeOf(node, s.nodes[node.Name].Status.Allocatable, used[node.Name]))
	}
	for _, one := range binding.Namespaces {
		namespace := s.namespace(one, binding.ClusterID)
		p.Pods.plus(namespace.Pods)
		p.Namespaces = append(p.Namespaces, namespace)
	}
	return p
}

// namespace counts the pods of a namespace in one place, and adds their rows.
func (s *Snapshot) namespace(one status.Namespace, place string) Namespace {
	n := Namespace{Name: one.Name, Remote: one.Remote, Ready: one.Ready, NotOffloaded: one.NotOffloaded, Waits: one.Waits}
	for _, pod := range one.Pods {
		n.Pods.add(s.row(one.Name, place, pod).State)
	}
	return n
}

// local has the pods of offloaded namespaces on the consumer's own nodes.
func (s *Snapshot) local(seen status.Seen) []Namespace {
	found := map[string]*status.Namespace{}
	for i := range seen.Local {
		pod := &seen.Local[i]
		if found[pod.Namespace] == nil {
			found[pod.Namespace] = &status.Namespace{Name: pod.Namespace, Ready: true}
		}
		found[pod.Namespace].Pods = append(found[pod.Namespace].Pods, status.PodOf(pod, s.events[pod.UID]...))
	}
	all := []Namespace{}
	for _, one := range found {
		all = append(all, s.namespace(*one, Here))
	}
	slices.SortFunc(all, byName)
	return all
}
