package syncer

import (
	"fmt"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/mountns"
	"github.com/spillway-io/spillway/internal/nsmap"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/translate"
)

// mapping is what a binding and its NamespaceMap say about namespaces, by the
// local namespace. It is made anew when either changes, and read for each object.
type mapping struct {
	binding *v1alpha1.ClusterBinding
	// known tells that there is a NamespaceMap: none says nothing.
	known   bool
	desired map[string]*v1alpha1.DesiredMapping
	current map[string]*v1alpha1.CurrentMapping
	world
}

// world is what else is known about namespaces.
type world struct {
	// managerNamespace is never sent anywhere.
	managerNamespace string
	// selects tells whether a local namespace has an offloading that selects the
	// binding. It reads a cache, and is asked only where there is no entry.
	selects func(binding *v1alpha1.ClusterBinding, namespace string) bool
}

// newMapping indexes a NamespaceMap, which may be nil.
func newMapping(binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap, w world) *mapping {
	m := &mapping{binding: binding, desired: map[string]*v1alpha1.DesiredMapping{}, current: map[string]*v1alpha1.CurrentMapping{}, world: w}
	if nsm == nil {
		return m
	}
	m.known = true
	for i := range nsm.Spec.DesiredMapping {
		m.desired[nsm.Spec.DesiredMapping[i].Namespace] = &nsm.Spec.DesiredMapping[i]
	}
	for i := range nsm.Status.CurrentMapping {
		m.current[nsm.Status.CurrentMapping[i].Namespace] = &nsm.Status.CurrentMapping[i]
	}
	return m
}

// place says where the new objects of a local namespace go: to the namespace that
// the NamespaceMap lists for it, under their own names; else to the binding's
// mount namespace, under hashed ones; else nowhere. What may still be listed is
// waited for: what has gone to the mount namespace stays there.
func (m *mapping) place(mark provenance.Mark, namespace string) Place {
	place := Place{Target: translate.Target{Mark: mark}, Local: namespace}
	desired, current := m.desired[namespace], m.current[namespace]
	switch {
	case desired != nil:
		place.Namespace = desired.RemoteNamespace
		place.Open = current != nil && current.Phase == v1alpha1.MappingAccepted && current.RemoteNamespace == desired.RemoteNamespace
		if !place.Open { // It nearly always is, and this is asked for each object.
			place.Problem = notReady(desired, current, mark.ClusterID)
		}
	case current != nil:
		// Before it is said to go, somebody may have taken the entry out of the map.
		place.Namespace, place.Leaving = current.RemoteNamespace, current.Phase != v1alpha1.MappingAccepted
		place.Problem = leaving(current.RemoteNamespace, mark.ClusterID, namespace)
	case !m.known:
		place.Problem = Problem{v1alpha1.ReasonNamespaceNotReady, fmt.Sprintf(
			"there is no NamespaceMap %s yet, which says where namespace %s goes", m.binding.Name, namespace)}
	case nsmap.CheckLocal(namespace, m.managerNamespace) != nil:
		place.Leaving = true
		place.Problem = Problem{v1alpha1.ReasonNamespaceNeverOffloaded, fmt.Sprintf(
			"namespace %s belongs to the cluster, and nothing of it is sent to a provider: take the toleration of %s away, or the name of the node",
			namespace, v1alpha1.TaintVirtualNode)}
	case m.binding.DeletionTimestamp.IsZero() && m.selects(m.binding, namespace):
		place.Problem = Problem{v1alpha1.ReasonNamespaceNotReady, fmt.Sprintf(
			"namespace %s is offloaded to cluster %s, and NamespaceMap %s does not list it yet", namespace, mark.ClusterID, m.binding.Name)}
	case m.binding.Spec.MountNamespace != "":
		return m.mount(mark, namespace)
	default:
		place.Leaving = true
		place.Problem = Problem{v1alpha1.ReasonNamespaceNotOffloaded, fmt.Sprintf(
			"namespace %s is not offloaded to cluster %s, and ClusterBinding %s has no mountNamespace: make a NamespaceOffloading that selects it",
			namespace, mark.ClusterID, m.binding.Name)}
	}
	return place
}

// mount is the place of objects of a local namespace in the mount namespace. A
// namespace of that name may be somebody else's: nothing is sent there before it
// is certain that it is ours.
func (m *mapping) mount(mark provenance.Mark, namespace string) Place {
	return Place{
		Target: translate.Target{Mark: mark, Namespace: m.binding.Spec.MountNamespace, Hashed: true}, Local: namespace, Open: mountns.Usable(m.binding),
		Problem: Problem{v1alpha1.ReasonNamespaceNotReady, fmt.Sprintf(
			"the mountNamespace %s of ClusterBinding %s is not ready; see its condition %s", m.binding.Spec.MountNamespace, m.binding.Name, v1alpha1.BindingMountNamespaceReady)},
	}
}

// placeIn is the place of what has gone to a namespace of the provider already,
// wherever the next one goes. If it was mapped before, that namespace is on its
// way out, and nothing more is decided about what is in it.
func (m *mapping) placeIn(mark provenance.Mark, namespace, remote string) Place {
	place := m.place(mark, namespace)
	switch {
	case place.Namespace == remote:
		return place
	case remote == m.binding.Spec.MountNamespace:
		return m.mount(mark, namespace)
	default:
		return Place{Target: translate.Target{Mark: mark, Namespace: remote}, Local: namespace, Problem: leaving(remote, mark.ClusterID, namespace)}
	}
}

// places are those where objects of a local namespace may be.
func (m *mapping) places(mark provenance.Mark, namespace string) []Place {
	place := m.place(mark, namespace)
	if mount := m.binding.Spec.MountNamespace; mount == "" || mount == place.Namespace {
		return []Place{place}
	}
	return []Place{place, m.mount(mark, namespace)}
}

func leaving(remote, clusterID, namespace string) Problem {
	return Problem{v1alpha1.ReasonNamespaceNotReady, fmt.Sprintf(
		"namespace %s of provider %s is being deleted, because namespace %s is not offloaded there any more", remote, clusterID, namespace)}
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
