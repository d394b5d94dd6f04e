// Package mapping decides where the objects of a local namespace are, or go, in a provider. It uses a
// ClusterBinding, its NamespaceMap, and the offloadings that select the binding.
package mapping

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/translate"
)

// Mapping is what a binding and its NamespaceMap say about each local namespace. It is immutable: when either
// changes, a new one is created.
type Mapping struct {
	mark    provenance.Mark
	binding *v1alpha1.ClusterBinding
	named   string // See translate.Target.
	// known reports whether the NamespaceMap exists.
	known   bool
	desired map[string]*v1alpha1.DesiredMapping
	current map[string]*v1alpha1.CurrentMapping
	World
}

// World has further functions about namespaces.
type World struct {
	// ManagerNamespace is never sent anywhere.
	ManagerNamespace string
	// Selects reports whether a local namespace has an offloading that selects the
	// binding. It reads a cache, and is called only if there is no entry.
	Selects func(binding *v1alpha1.ClusterBinding, namespace string) bool
	// Offloading returns the offloading of a local namespace, or nil if none is known. Callers must not
	// change it. It reads a cache.
	Offloading func(namespace string) *v1alpha1.NamespaceOffloading
	// Ends reports whether a local namespace is being deleted. It reads a cache.
	Ends func(namespace string) bool
	// Labels returns the labels of a local namespace, and whether it exists. It reads a cache.
	Labels func(namespace string) (labels map[string]string, exists bool)
}

// New indexes a NamespaceMap, which may be nil. mark is the mark of the remote objects.
func New(mark provenance.Mark, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap, w World) *Mapping {
	m := &Mapping{mark: mark, binding: binding, named: named(binding), desired: map[string]*v1alpha1.DesiredMapping{}, current: map[string]*v1alpha1.CurrentMapping{}, World: w}
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

// WithMap returns the same Mapping with another NamespaceMap.
func (m *Mapping) WithMap(nsm *v1alpha1.NamespaceMap) *Mapping {
	return New(m.mark, m.binding, nsm, m.World)
}

// WithBinding returns the same Mapping with another state of the binding.
func (m *Mapping) WithBinding(binding *v1alpha1.ClusterBinding) *Mapping {
	changed := *m
	changed.binding, changed.named = binding, named(binding)
	return &changed
}

// Binding returns the binding. Callers must not change it.
func (m *Mapping) Binding() *v1alpha1.ClusterBinding { return m.binding }

// Known reports whether there is a NamespaceMap. If there is none, nothing is known about namespaces.
func (m *Mapping) Known() bool { return m.known }

// Concerns reports whether a local namespace is, or was, mapped to a remote one. In other namespaces, objects
// that are selected by their namespace do not matter.
func (m *Mapping) Concerns(namespace string) bool {
	return m.desired[namespace] != nil || m.current[namespace] != nil
}

// Mapped returns the place of objects that are sent because their namespace is mapped: the remote namespace,
// never the mount namespace. The argument resource is the offloading's name for the kind, or empty if teams
// do not choose the kind. The result wanted reports whether the objects should be there.
//
// While they are wanted and the place is not Open, nothing is decided. Either too little is known yet, or the
// remote namespace is being deleted with everything in it. The place is Leaving once that deletion was
// requested. Objects that are deleted in the consumer after that need no request of their own.
func (m *Mapping) Mapped(namespace string, resource v1alpha1.OffloadedResource) (place decide.Place, wanted bool) {
	place = decide.Place{Target: translate.Target{Mark: m.mark}, Local: namespace}
	switch {
	case m.Concerns(namespace):
		place = m.Place(namespace)
	case !m.known, drain.Withdraws(m.binding), m.binding.DeletionTimestamp.IsZero() && m.Selects(m.binding, namespace):
		return place, true
	default:
		return place, false
	}
	offloading := m.Offloading(namespace)
	place.Open = place.Open && offloading != nil && !drain.Withdraws(m.binding)
	place.Leaving = offloading != nil && !offloading.DeletionTimestamp.IsZero() || m.Ends(namespace) || drain.Withdraws(m.binding)
	return place, !place.Open || resource == "" || offloading.Spec.Sends(resource)
}

// Holds reports whether objects that are sent because a namespace is mapped may be in use in the provider,
// together with what they need. It is false once the offloading or the binding is withdrawing them, or if
// they should be nowhere.
func Holds(m *Mapping, namespace string, resource v1alpha1.OffloadedResource) bool {
	place, wanted := m.Mapped(namespace, resource)
	return wanted && (place.Open || !place.Leaving && !drain.Withdraws(m.binding))
}

// Reach says which addresses of the provider are shown.
func (m *Mapping) Reach() network.Reach { return network.Of(m.binding) }

// Place returns where new objects of a local namespace go. If the NamespaceMap lists a remote namespace, they
// go there, under their own names. Otherwise they go to the binding's mount namespace, under hashed names, or
// nowhere. Place waits for entries that may still be added, because objects that were sent to the mount
// namespace stay there.
func (m *Mapping) Place(namespace string) decide.Place {
	place := decide.Place{Target: translate.Target{Mark: m.mark, Named: m.named}, Local: namespace}
	desired, current := m.desired[namespace], m.current[namespace]
	switch {
	case desired != nil:
		place.Namespace = desired.RemoteNamespace
		place.Open = current != nil && current.Phase == v1alpha1.MappingAccepted && current.RemoteNamespace == desired.RemoteNamespace
		if !place.Open { // It is nearly always open, and this runs for each object.
			place.Problem = notReady(desired, current, m.mark.ClusterID)
		}
	case current != nil:
		// Somebody may have removed the entry from the map before the status says that the namespace is being
		// deleted.
		place.Namespace, place.Leaving = current.RemoteNamespace, current.Phase != v1alpha1.MappingAccepted
		place.Problem = leaving(current.RemoteNamespace, m.mark.ClusterID, namespace)
	case !m.known:
		place.Problem = field.Problemf(v1alpha1.ReasonNamespaceNotReady,
			"NamespaceMap %s, which maps namespace %s, does not exist yet", m.binding.Name, namespace)
	case namespacemap.CheckLocal(namespace, m.ManagerNamespace) != nil:
		place.Leaving = true
		place.Problem = field.Problemf(v1alpha1.ReasonNamespaceNeverOffloaded,
			"namespace %s is a system namespace, which is never offloaded: remove the toleration of %s, or spec.nodeName",
			namespace, v1alpha1.TaintVirtualNode)
	case m.binding.DeletionTimestamp.IsZero() && m.Selects(m.binding, namespace):
		place.Problem = field.Problemf(v1alpha1.ReasonNamespaceNotReady,
			"namespace %s is offloaded to cluster %s, but NamespaceMap %s does not list it yet", namespace, m.mark.ClusterID, m.binding.Name)
	case m.binding.Spec.MountNamespace != "":
		return m.mount(namespace)
	default:
		place.Leaving = true
		place.Problem = field.Problemf(v1alpha1.ReasonNamespaceNotOffloaded,
			"namespace %s is not offloaded to cluster %s, and ClusterBinding %s has no mountNamespace: create a NamespaceOffloading that selects it",
			namespace, m.mark.ClusterID, m.binding.Name)
	}
	return place
}

// named returns the labels of kubelets for which the binding sets values of its own.
func named(binding *v1alpha1.ClusterBinding) string {
	var keys []string
	for _, key := range translate.NodeKeys {
		if _, set := binding.Spec.VirtualNode.Labels[key]; set {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, ",")
}

// mount returns the place of a local namespace's objects in the mount namespace. A namespace of that name may
// belong to somebody else, so nothing is sent there until Spillway's ownership is certain.
func (m *Mapping) mount(namespace string) decide.Place {
	return decide.Place{
		Target: translate.Target{Mark: m.mark, Namespace: m.binding.Spec.MountNamespace, Hashed: true, Named: m.named}, Local: namespace, Open: mountnamespace.Usable(m.binding),
		Problem: field.Problemf(v1alpha1.ReasonNamespaceNotReady,
			"the mountNamespace %s of ClusterBinding %s is not ready; see its condition %s", m.binding.Spec.MountNamespace, m.binding.Name, v1alpha1.BindingMountNamespaceReady),
	}
}

// PlaceIn returns the place of objects that already are in a namespace of the provider, wherever new ones go.
// If that namespace was mapped earlier, it is being deleted, and nothing more is decided about its content.
func (m *Mapping) PlaceIn(namespace, remote string) decide.Place {
	place := m.Place(namespace)
	switch {
	case place.Namespace == remote:
		return place
	case remote == m.binding.Spec.MountNamespace:
		return m.mount(namespace)
	default:
		return decide.Place{Target: translate.Target{Mark: m.mark, Namespace: remote, Named: m.named}, Local: namespace, Problem: leaving(remote, m.mark.ClusterID, namespace)}
	}
}

// Places returns all places where objects of a local namespace may be.
func (m *Mapping) Places(namespace string) []decide.Place {
	place := m.Place(namespace)
	if mount := m.binding.Spec.MountNamespace; mount == "" || mount == place.Namespace {
		return []decide.Place{place}
	}
	return []decide.Place{place, m.mount(namespace)}
}

// Near returns where an object at a place finds what it needs from a local namespace. For the object's own
// namespace, that is the same place. Otherwise it is where the objects of that namespace go.
func (m *Mapping) Near(at decide.Place, namespace string) decide.Place {
	if namespace == "" || namespace == at.Local {
		return at
	}
	return m.Place(namespace)
}

// Differing returns the local namespaces whose place differs between the two.
func (m *Mapping) Differing(other *Mapping) []string {
	listed := sets.KeySet(m.desired).Union(sets.KeySet(m.current)).Union(sets.KeySet(other.desired)).Union(sets.KeySet(other.current))
	var namespaces []string
	for namespace := range listed {
		if m.Place(namespace) != other.Place(namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

func leaving(remote, clusterID, namespace string) field.Problem {
	return field.Problemf(v1alpha1.ReasonNamespaceNotReady,
		"namespace %s in provider %s is being deleted, because namespace %s is no longer offloaded there", remote, clusterID, namespace)
}

func notReady(desired *v1alpha1.DesiredMapping, current *v1alpha1.CurrentMapping, clusterID string) field.Problem {
	if current == nil {
		return field.Problemf(v1alpha1.ReasonNamespaceNotReady, "namespace %s in provider %s does not exist yet", desired.RemoteNamespace, clusterID)
	}
	why := ""
	if current.Message != "" {
		why = ": " + current.Message
	}
	return field.Problemf(v1alpha1.ReasonNamespaceNotReady, "namespace %s in provider %s is %s (%s)%s",
		desired.RemoteNamespace, clusterID, current.Phase, current.Reason, why)
}
