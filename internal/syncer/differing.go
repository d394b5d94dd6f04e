package syncer

import "github.com/spillway-io/spillway/internal/provenance"

// differing are the namespaces whose place is not the same in both.
func (m *mapping) differing(other *mapping, mark provenance.Mark) []string {
	var namespaces []string
	check := func(namespace string) {
		if m.place(mark, namespace) != other.place(mark, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	for namespace := range m.desired {
		check(namespace)
	}
	for namespace := range m.current {
		if m.desired[namespace] == nil {
			check(namespace)
		}
	}
	for namespace := range other.desired {
		if m.desired[namespace] == nil && m.current[namespace] == nil {
			check(namespace)
		}
	}
	for namespace := range other.current {
		if m.desired[namespace] == nil && m.current[namespace] == nil && other.desired[namespace] == nil {
			check(namespace)
		}
	}
	return namespaces
}
