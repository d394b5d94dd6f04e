package namespaceoffloading

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// Settings are the settings that all decisions about offloadings share.
type Settings struct {
	// ConsumerID is the consumer's name in DefaultName.
	ConsumerID string
	// ManagerNamespace is never offloaded.
	ManagerNamespace string
}

// Providers is what is known about all providers.
type Providers struct {
	Bindings placement.Index
	Maps     []v1alpha1.NamespaceMap
	// Pods are the pods of the offloading's namespace that must leave virtual nodes, by the name of the
	// ClusterBinding.
	Pods map[string]eviction.Remaining
	// Recorded are the claims for whose volumes PersistentVolumes of the consumer stand, as namespace/name in the
	// provider, by the name of the ClusterBinding. Only deletions need them, and only of a binding without a report.
	Recorded map[string][]string
	// Outdated are the pods of the namespace that wait for a node with the affinity of an earlier version of
	// the offloading.
	Outdated eviction.Remaining
	// Waiting are the pods of the namespace that wait for a node.
	Waiting Waiting
}

// Waiting are pods that wait for a node. When the offloading is deleted, the pods in Recreated are evicted and
// their controllers recreate them. The pods in Stranded wait forever. The pods in Virtual can run only on
// virtual nodes, whether or not the offloading is deleted.
type Waiting struct {
	Recreated, Stranded, Virtual eviction.Remaining
	// Unfit are the pods that may use every tier of spec.overflow, and fit in none. There may be more after
	// UnfitAfter; 0: not before something changes.
	Unfit      eviction.Remaining
	UnfitAfter time.Duration
}

// Observe collects what is known about an offloading.
func Observe(nso *v1alpha1.NamespaceOffloading, world Providers, settings Settings, now time.Time) Snapshot {
	s := Snapshot{Offloading: nso, RemoteName: namespacemap.RemoteName(nso, settings.ConsumerID), Outdated: world.Outdated, Waiting: world.Waiting, Now: now}
	if err := namespacemap.CheckLocal(nso.Namespace, settings.ManagerNamespace); err != nil {
		s.Refusal = err.Error()
	}
	if strategy := nso.Spec.NamespaceMappingStrategy; !namespacemap.KnowsStrategy(strategy) {
		s.Refusal = fmt.Sprintf("this manager does not know namespaceMappingStrategy %s: existing remote namespaces stay unchanged", strategy)
	}
	byName := make(map[string]*v1alpha1.NamespaceMap, len(world.Maps))
	for i := range world.Maps {
		byName[world.Maps[i].Name] = &world.Maps[i]
	}
	for _, binding := range world.Bindings.Usable() {
		taken := TakenBy(nso, binding, world.Bindings) != ""
		s.observeBinding(binding, byName[binding.Name], world, taken)
	}
	if s.Refusal == "" {
		s.Tiers, s.Overlaps = Tiers(nso, world.Bindings)
	}
	return s
}

// Tiers returns the tiers of an offloading with the bindings through which it is offloaded, and the providers that
// several tiers select.
func Tiers(nso *v1alpha1.NamespaceOffloading, bindings placement.Index) ([]spill.Tier, []spill.Overlap) {
	if len(nso.Spec.Overflow) == 0 {
		return nil, nil
	}
	var selected []*v1alpha1.ClusterBinding
	for _, binding := range bindings.Usable() {
		if Selects(nso, binding) && binding.DeletionTimestamp.IsZero() && TakenBy(nso, binding, bindings) == "" {
			selected = append(selected, binding)
		}
	}
	return spill.Resolve(&nso.Spec, selected)
}

// observeBinding adds the state of one binding and of its map, which may be nil, the pods that must leave its virtual
// node, and the volumes of which only the consumer knows. If taken, an older binding of the provider has the namespace,
// and this one is not selected.
func (s *Snapshot) observeBinding(binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap, world Providers, taken bool) {
	nso := s.Offloading
	selected, err := placement.Selects(nso.Spec.Selector(), binding)
	if err != nil {
		s.Refusal = err.Error()
	}
	c := cluster(nso.Namespace, binding, nsm)
	c.Pods = world.Pods[binding.Name]
	c.Selected = selected && s.Refusal == "" && binding.DeletionTimestamp.IsZero() && (!taken || exists(c.Current))
	if selected && s.Refusal == "" && !binding.DeletionTimestamp.IsZero() {
		c.Leaving = binding.Name
	}
	s.name(&c)
	deleting := !nso.DeletionTimestamp.IsZero()
	c.Recorded = recorded(nso, nsm, c.RemoteNamespace, world.Recorded[binding.Name])
	if c.Selected || c.Leaving != "" || c.mayBeRequested() || (deleting && c.Pods.Count > 0) {
		s.Clusters = append(s.Clusters, c)
	}
}

// Reported reports whether a NamespaceMap, which may be nil, has ever said which remote namespaces there are.
func Reported(nsm *v1alpha1.NamespaceMap) bool {
	return nsm != nil && nsm.Status.ObservedGeneration > 0
}

// recorded returns the names of the claims in a remote namespace, if a deletion depends on them.
func recorded(nso *v1alpha1.NamespaceOffloading, nsm *v1alpha1.NamespaceMap, namespace string, all []string) (names []string) {
	if nso.DeletionTimestamp.IsZero() || Reported(nsm) {
		return nil
	}
	for _, claim := range all {
		if in, name, _ := strings.Cut(claim, "/"); in == namespace {
			names = append(names, name)
		}
	}
	return names
}

// name decides the name of the remote namespace. An entry that was created under another consumer ID keeps
// its name.
func (s *Snapshot) name(c *Cluster) {
	if c.RemoteNamespace == "" {
		c.RemoteNamespace = s.RemoteName
	} else if c.Selected {
		s.RemoteName = c.RemoteNamespace
	}
}

func cluster(namespace string, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap) Cluster {
	c := Cluster{ClusterID: binding.Spec.ClusterID, Unreachable: Unreachable(binding), Refused: WritesRefused(binding)}
	c.Away, c.AwaySince = Away(binding)
	if timeout := binding.Spec.Unreachable.DeletionTimeout; timeout != nil {
		c.DeletionTimeout = timeout.Duration
	}
	if nsm == nil {
		return c
	}
	if entry := namespacemap.FindCurrent(nsm.Status.CurrentMapping, namespace); entry != nil {
		c.Current, c.RemoteNamespace = entry, entry.RemoteNamespace
	}
	if entry := namespacemap.FindDesired(nsm.Spec.DesiredMapping, namespace); entry != nil {
		c.Desired, c.RemoteNamespace = true, entry.RemoteNamespace
	}
	return c
}

// Unreachable says why a provider cannot be reached; "" if it can, or if that is unknown.
func Unreachable(binding *v1alpha1.ClusterBinding) string {
	if binding.Spec.Paused {
		return pausedBy(binding.Spec.ClusterID)
	}
	connected := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingConnected)
	if connected == nil || connected.Status != metav1.ConditionFalse {
		return ""
	}
	if connected.Reason == v1alpha1.ReasonCredentialsInvalid {
		if c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingCredentialsValid); c != nil {
			return fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
	}
	return fmt.Sprintf("%s: %s", connected.Reason, connected.Message)
}

// WritesRefused says which of the manager's writes the consumer refuses; "" if none.
func WritesRefused(binding *v1alpha1.ClusterBinding) string {
	if c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingWritesRefused); c != nil {
		return c.Message
	}
	return ""
}

// Wanted reports whether, and under what name, the binding's NamespaceMap should ask for a remote namespace
// for the offloading. A new entry needs the finalizer. An existing entry (asked) stays even if somebody has
// removed the finalizer. Otherwise the remote namespace would be deleted before the finalizer is added again.
//
// The entry is removed once the offloading is being deleted, or no longer selects the binding, and nothing
// holds the entry (held). Pods hold it, and so does a status that does not report on it yet
// (namespacemap.Unreported).
func Wanted(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding, asked, held bool, settings Settings) (namespacemap.Wanted, bool) {
	if !asked && !slices.Contains(nso.Finalizers, v1alpha1.FinalizerOffloading) || namespacemap.CheckLocal(nso.Namespace, settings.ManagerNamespace) != nil {
		return namespacemap.Wanted{}, false
	}
	if !held && !Selects(nso, binding) {
		return namespacemap.Wanted{}, false
	}
	return namespacemap.Wanted{
		Namespace:       nso.Namespace,
		RemoteNamespace: namespacemap.RemoteName(nso, settings.ConsumerID),
		Default:         nso.Spec.NamespaceMappingStrategy == v1alpha1.MappingDefaultName,
		Unknown:         !namespacemap.KnowsStrategy(nso.Spec.NamespaceMappingStrategy),
		Created:         nso.CreationTimestamp.Time,
	}, true
}

// Selects reports whether the offloading selects the binding, and is not being deleted.
func Selects(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding) bool {
	selected, err := placement.Selects(nso.Spec.Selector(), binding)
	return selected && err == nil && nso.DeletionTimestamp.IsZero()
}
