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
)

// Mapping is what a binding and its NamespaceMap say about each local namespace. It is immutable: when either
// changes, a new one is created.
type Mapping struct {
	mark    provenance.Mark
	binding *v1alpha1.ClusterBinding
	named   string // See field.Target.
	// known reports whether the NamespaceMap exists.
	known   bool
	desired map[string]*v1alpha1.DesiredMapping
	current map[string]*v1alpha1.CurrentMapping
	LocalNamespaces
}

// LocalNamespaces has further functions about namespaces.
type LocalNamespaces struct {
	// ManagerNamespace is never sent anywhere.
	ManagerNamespace string
	// Selects reports whether a local namespace has an offloading that selects the
	// binding. It reads a cache, and is called only if there is no entry.
	Selects func(binding *v1alpha1.ClusterBinding, namespace string) bool
	// Offloading returns the offloading of a local namespace, or nil if none is known. Callers must not
	// change it. It reads a cache.
	Offloading func(namespace string) *v1alpha1.NamespaceOffloading
	// IsTerminating reports whether a local namespace is being deleted. It reads a cache.
	IsTerminating func(namespace string) bool
	// Labels returns the labels of a local namespace, and whether it exists. It reads a cache.
	Labels func(namespace string) (labels map[string]string, exists bool)
}

// New indexes a NamespaceMap, which may be nil. mark is the mark of the remote objects.
func New(mark provenance.Mark, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap, w LocalNamespaces) *Mapping {
	m := &Mapping{mark: mark, binding: binding, named: named(binding), desired: map[string]*v1alpha1.DesiredMapping{}, current: map[string]*v1alpha1.CurrentMapping{}, LocalNamespaces: w}
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
	return New(m.mark, m.binding, nsm, m.LocalNamespaces)
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

// Mapped returns the destination of objects that are sent because their namespace is mapped: the remote namespace,
// never the mount namespace. The argument resource is the offloading's name for the kind, or empty if teams
// do not choose the kind. The result wanted reports whether the objects should be there.
//
// While they are wanted and the destination is not Open, nothing is decided. Either too little is known yet, or the
// remote namespace is being deleted with everything in it. The destination is Leaving once that deletion
// was requested. Objects that are deleted in the consumer after that need no request of their own.
func (m *Mapping) Mapped(namespace string, resource v1alpha1.OffloadedResource) (place decide.Destination, wanted bool) {
	place = decide.Destination{Target: field.Target{Mark: m.mark}, Local: namespace}
	switch {
	case m.Concerns(namespace):
		place = m.Destination(namespace)
	case !m.known, drain.ReachedCopies(m.binding), m.binding.DeletionTimestamp.IsZero() && m.Selects(m.binding, namespace):
		return place, true
	default:
		return place, false
	}
	offloading := m.Offloading(namespace)
	place.Open = place.Open && offloading != nil && !drain.ReachedCopies(m.binding)
	place.Leaving = offloading != nil && !offloading.DeletionTimestamp.IsZero() || m.IsTerminating(namespace) || drain.ReachedCopies(m.binding)
	return place, !place.Open || resource == "" || offloading.Spec.Sends(resource)
}

// MayBeInUse reports whether objects that are sent because a namespace is mapped may be in use in the provider,
// together with what they need. It is false once the offloading or the binding is withdrawing them, or if
// they should be nowhere.
func MayBeInUse(m *Mapping, namespace string, resource v1alpha1.OffloadedResource) bool {
	place, wanted := m.Mapped(namespace, resource)
	return wanted && (place.Open || !place.Leaving && !drain.ReachedCopies(m.binding))
}

// Reach says which addresses of the provider are shown.
func (m *Mapping) Reach() network.Reach { return network.Of(m.binding) }

// Destination returns where new objects of a local namespace go. If the NamespaceMap lists a remote namespace, they
// go there, under their own names. Otherwise they go to the binding's mount namespace, under hashed names, or
// nowhere. Destination waits for entries that may still be added, because objects that were sent to the mount
// namespace stay there.
func (m *Mapping) Destination(namespace string) decide.Destination {
	place := decide.Destination{Target: field.Target{Mark: m.mark, Named: m.named}, Local: namespace}
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
	for _, key := range field.NodeKeys {
		if _, set := binding.Spec.VirtualNode.Labels[key]; set {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, ",")
}

// mount returns the destination of a local namespace's objects in the mount namespace. A namespace of that name may
// belong to somebody else, so nothing is sent there until Spillway's ownership is certain.
func (m *Mapping) mount(namespace string) decide.Destination {
	return decide.Destination{
		Target: field.Target{Mark: m.mark, Namespace: m.binding.Spec.MountNamespace, Hashed: true, Named: m.named}, Local: namespace, Open: mountnamespace.Usable(m.binding),
		Problem: field.Problemf(v1alpha1.ReasonNamespaceNotReady,
			"the mountNamespace %s of ClusterBinding %s is not ready; see its condition %s", m.binding.Spec.MountNamespace, m.binding.Name, v1alpha1.BindingMountNamespaceReady),
	}
}

// DestinationIn returns the destination of objects that already are in a namespace of the provider, wherever new
// ones go. If that namespace was mapped earlier, it is being deleted, and nothing more is decided about its
// content.
func (m *Mapping) DestinationIn(namespace, remote string) decide.Destination {
	place := m.Destination(namespace)
	switch {
	case place.Namespace == remote:
		return place
	case remote == m.binding.Spec.MountNamespace:
		return m.mount(namespace)
	default:
		return decide.Destination{Target: field.Target{Mark: m.mark, Namespace: remote, Named: m.named}, Local: namespace, Problem: leaving(remote, m.mark.ClusterID, namespace)}
	}
}

// Destinations returns all destinations where objects of a local namespace may be.
func (m *Mapping) Destinations(namespace string) []decide.Destination {
	place := m.Destination(namespace)
	if mount := m.binding.Spec.MountNamespace; mount == "" || mount == place.Namespace {
		return []decide.Destination{place}
	}
	return []decide.Destination{place, m.mount(namespace)}
}

// Resolve returns where an object at a destination finds what it needs from a local namespace. For the object's
// own namespace, that is the same destination. Otherwise it is where the objects of that namespace go.
func (m *Mapping) Resolve(at decide.Destination, namespace string) decide.Destination {
	if namespace == "" || namespace == at.Local {
		return at
	}
	return m.Destination(namespace)
}

// Differing returns the local namespaces whose destination differs between the two.
func (m *Mapping) Differing(other *Mapping) []string {
	listed := sets.KeySet(m.desired).Union(sets.KeySet(m.current)).Union(sets.KeySet(other.desired)).Union(sets.KeySet(other.current))
	var namespaces []string
	for namespace := range listed {
		if m.Destination(namespace) != other.Destination(namespace) {
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
