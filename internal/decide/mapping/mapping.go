// Package mapping decides where the objects of a local namespace are, or go, in a
// provider: from a ClusterBinding, its NamespaceMap, and the offloadings that select
// it.
package mapping

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/translate"
)

// Mapping is what a binding and its NamespaceMap say about namespaces, by local
// namespace. It is immutable: when either changes, another one is made.
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

// World is what else is known about namespaces.
type World struct {
	// ManagerNamespace is never sent anywhere.
	ManagerNamespace string
	// Selects reports whether a local namespace has an offloading that selects the
	// binding. It reads a cache, and is called only if there is no entry.
	Selects func(binding *v1alpha1.ClusterBinding, namespace string) bool
	// Offloading is that of a local namespace, which must not be changed, or nil if none is
	// known. It reads a cache.
	Offloading func(namespace string) *v1alpha1.NamespaceOffloading
	// Ends reports whether a local namespace is being deleted. It reads a cache.
	Ends func(namespace string) bool
	// Labels are those of a local namespace, and whether there is one. It reads a cache.
	Labels func(namespace string) (labels map[string]string, exists bool)
}

// New indexes a NamespaceMap, which may be nil. The mark is that of the objects that
// are sent.
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

// WithMap is the same Mapping with another NamespaceMap.
func (m *Mapping) WithMap(nsm *v1alpha1.NamespaceMap) *Mapping {
	return New(m.mark, m.binding, nsm, m.World)
}

// WithBinding is the same Mapping with another state of the binding.
func (m *Mapping) WithBinding(binding *v1alpha1.ClusterBinding) *Mapping {
	changed := *m
	changed.binding, changed.named = binding, named(binding)
	return &changed
}

// Binding is the binding, which must not be changed.
func (m *Mapping) Binding() *v1alpha1.ClusterBinding { return m.binding }

// Known reports whether there is a NamespaceMap: none says nothing.
func (m *Mapping) Known() bool { return m.known }

// Concerns reports whether a local namespace is, or was, mapped to one of the provider:
// of the others, no object of a kind that is selected by its namespace matters.
func (m *Mapping) Concerns(namespace string) bool {
	return m.desired[namespace] != nil || m.current[namespace] != nil
}

// Mapped is the place of what is sent because its namespace is mapped: the remote
// namespace, never the mount namespace. resource is how the offloading calls the kind, or
// empty if teams do not choose it. wanted reports whether it is to be there.
//
// While it is wanted and the place is not Open, nothing is decided: too little is known
// yet; or the remote namespace goes, and takes all of it along. The place is Leaving once
// that has been asked for, and what ends here by then needs no request of its own.
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

// Holds reports whether what is sent because a namespace is mapped may be in use there, and with
// it what it needs: false once the offloading or the binding has it go, or it should be nowhere.
func Holds(m *Mapping, namespace string, resource v1alpha1.OffloadedResource) bool {
	place, wanted := m.Mapped(namespace, resource)
	return wanted && (place.Open || !place.Leaving && !drain.Withdraws(m.binding))
}

// Reach says which addresses of the provider are shown.
func (m *Mapping) Reach() network.Reach { return network.Of(m.binding) }

// Place says where the new objects of a local namespace go: to the namespace that the
// NamespaceMap lists for it, under their own names; else to the binding's mount
// namespace, under hashed ones; else nowhere. It waits for what may still be listed,
// because what has gone to the mount namespace stays there.
func (m *Mapping) Place(namespace string) decide.Place {
	place := decide.Place{Target: translate.Target{Mark: m.mark, Named: m.named}, Local: namespace}
	desired, current := m.desired[namespace], m.current[namespace]
	switch {
	case desired != nil:
		place.Namespace = desired.RemoteNamespace
		place.Open = current != nil && current.Phase == v1alpha1.MappingAccepted && current.RemoteNamespace == desired.RemoteNamespace
		if !place.Open { // It nearly always is, and this runs for each object.
			place.Problem = notReady(desired, current, m.mark.ClusterID)
		}
	case current != nil:
		// Somebody may have removed the entry from the map before the status says that the
		// namespace goes.
		place.Namespace, place.Leaving = current.RemoteNamespace, current.Phase != v1alpha1.MappingAccepted
		place.Problem = leaving(current.RemoteNamespace, m.mark.ClusterID, namespace)
	case !m.known:
		place.Problem = field.Problemf(v1alpha1.ReasonNamespaceNotReady,
			"there is no NamespaceMap %s yet, which says where namespace %s goes", m.binding.Name, namespace)
	case namespacemap.CheckLocal(namespace, m.ManagerNamespace) != nil:
		place.Leaving = true
		place.Problem = field.Problemf(v1alpha1.ReasonNamespaceNeverOffloaded,
			"namespace %s belongs to the cluster, and nothing of it is sent to a provider: take the toleration of %s away, or the name of the node",
			namespace, v1alpha1.TaintVirtualNode)
	case m.binding.DeletionTimestamp.IsZero() && m.Selects(m.binding, namespace):
		place.Problem = field.Problemf(v1alpha1.ReasonNamespaceNotReady,
			"namespace %s is offloaded to cluster %s, and NamespaceMap %s does not list it yet", namespace, m.mark.ClusterID, m.binding.Name)
	case m.binding.Spec.MountNamespace != "":
		return m.mount(namespace)
	default:
		place.Leaving = true
		place.Problem = field.Problemf(v1alpha1.ReasonNamespaceNotOffloaded,
			"namespace %s is not offloaded to cluster %s, and ClusterBinding %s has no mountNamespace: make a NamespaceOffloading that selects it",
			namespace, m.mark.ClusterID, m.binding.Name)
	}
	return place
}

// named are the labels of kubelets to which the binding gives values of its own.
func named(binding *v1alpha1.ClusterBinding) string {
	var keys []string
	for _, key := range translate.NodeKeys {
		if _, set := binding.Spec.VirtualNode.Labels[key]; set {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, ",")
}

// mount is the place of a local namespace's objects in the mount namespace. A namespace
// of that name may be somebody else's: nothing is sent there before it is certain that
// it is ours.
func (m *Mapping) mount(namespace string) decide.Place {
	return decide.Place{
		Target: translate.Target{Mark: m.mark, Namespace: m.binding.Spec.MountNamespace, Hashed: true, Named: m.named}, Local: namespace, Open: mountnamespace.Usable(m.binding),
		Problem: field.Problemf(v1alpha1.ReasonNamespaceNotReady,
			"the mountNamespace %s of ClusterBinding %s is not ready; see its condition %s", m.binding.Spec.MountNamespace, m.binding.Name, v1alpha1.BindingMountNamespaceReady),
	}
}

// PlaceIn is the place of what is already in a namespace of the provider, wherever the
// next one goes. If that namespace was mapped before, it is being deleted, and nothing
// more is decided about its content.
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

// Places are all places where objects of a local namespace may be.
func (m *Mapping) Places(namespace string) []decide.Place {
	place := m.Place(namespace)
	if mount := m.binding.Spec.MountNamespace; mount == "" || mount == place.Namespace {
		return []decide.Place{place}
	}
	return []decide.Place{place, m.mount(namespace)}
}

// Near returns where an object at a place finds what it needs from a local namespace: at the same
// place, if that is the object's own namespace, else where the objects of that namespace go.
func (m *Mapping) Near(at decide.Place, namespace string) decide.Place {
	if namespace == "" || namespace == at.Local {
		return at
	}
	return m.Place(namespace)
}

// Differing are the local namespaces whose place differs.
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
		"namespace %s of provider %s is being deleted, because namespace %s is not offloaded there any more", remote, clusterID, namespace)
}

func notReady(desired *v1alpha1.DesiredMapping, current *v1alpha1.CurrentMapping, clusterID string) field.Problem {
	if current == nil {
		return field.Problemf(v1alpha1.ReasonNamespaceNotReady, "namespace %s of provider %s is not there yet", desired.RemoteNamespace, clusterID)
	}
	why := ""
	if current.Message != "" {
		why = ": " + current.Message
	}
	return field.Problemf(v1alpha1.ReasonNamespaceNotReady, "namespace %s of provider %s is %s (%s)%s",
		desired.RemoteNamespace, clusterID, current.Phase, current.Reason, why)
}
