package syncer

import (
	"fmt"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/mountns"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/translate"
)

// mapping is what a binding and its NamespaceMap say about namespaces, by the
// local namespace. It is made anew when either changes, and read for each object.
type mapping struct {
	binding *v1alpha1.ClusterBinding
	desired map[string]*v1alpha1.DesiredMapping
	current map[string]*v1alpha1.CurrentMapping
}

// newMapping indexes a NamespaceMap, which may be nil.
func newMapping(binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap) *mapping {
	m := &mapping{binding: binding, desired: map[string]*v1alpha1.DesiredMapping{}, current: map[string]*v1alpha1.CurrentMapping{}}
	if nsm == nil {
		return m
	}
	for i := range nsm.Spec.DesiredMapping {
		m.desired[nsm.Spec.DesiredMapping[i].Namespace] = &nsm.Spec.DesiredMapping[i]
	}
	for i := range nsm.Status.CurrentMapping {
		m.current[nsm.Status.CurrentMapping[i].Namespace] = &nsm.Status.CurrentMapping[i]
	}
	return m
}

// place says where the objects of a local namespace go: to the namespace that
// the NamespaceMap lists for it, under their own names; else to the binding's
// mount namespace, under hashed ones; else nowhere.
func (m *mapping) place(mark provenance.Mark, namespace string) Place {
	place := Place{Target: translate.Target{Mark: mark}}
	desired, current := m.desired[namespace], m.current[namespace]
	switch {
	case desired != nil:
		place.Namespace = desired.RemoteNamespace
		place.Open = current != nil && current.Phase == v1alpha1.MappingAccepted && current.RemoteNamespace == desired.RemoteNamespace
		if !place.Open { // It nearly always is, and this is asked for each object.
			place.Problem = notReady(desired, current, mark.ClusterID)
		}
	case current != nil:
		place.Namespace, place.Leaving = current.RemoteNamespace, true
		place.Problem = Problem{v1alpha1.ReasonNamespaceNotReady, fmt.Sprintf("namespace %s of provider %s is being deleted, because namespace %s is not offloaded there any more",
			current.RemoteNamespace, mark.ClusterID, namespace)}
	case m.binding.Spec.MountNamespace != "":
		// A namespace of that name may be somebody else's: nothing is sent there
		// before it is certain that it is ours.
		place.Namespace, place.Hashed, place.Open = m.binding.Spec.MountNamespace, true, mountns.Usable(m.binding)
		place.Problem = Problem{v1alpha1.ReasonNamespaceNotReady, fmt.Sprintf(
			"the mountNamespace %s of ClusterBinding %s is not ready; see its condition %s", m.binding.Spec.MountNamespace, m.binding.Name, v1alpha1.BindingMountNamespaceReady)}
	default:
		place.Leaving = true
		place.Problem = Problem{v1alpha1.ReasonNamespaceNotOffloaded, fmt.Sprintf(
			"namespace %s is not offloaded to cluster %s, and ClusterBinding %s has no mountNamespace: make a NamespaceOffloading that selects it",
			namespace, mark.ClusterID, m.binding.Name)}
	}
	return place
}

func notReady(desired *v1alpha1.DesiredMapping, current *v1alpha1.CurrentMapping, clusterID string) Problem {
	message := fmt.Sprintf("namespace %s of provider %s is not there yet", desired.RemoteNamespace, clusterID)
	if current != nil {
		message = fmt.Sprintf("namespace %s of provider %s is %s (%s)", desired.RemoteNamespace, clusterID, current.Phase, current.Reason)
		if current.Message != "" {
			message += ": " + current.Message
		}
	}
	return Problem{v1alpha1.ReasonNamespaceNotReady, message}
}

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
