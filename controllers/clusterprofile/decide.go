package clusterprofile

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field/text"
)

// ClusterManager is the name of Spillway as a manager of clusters.
const ClusterManager = "spillway"

// The properties of a ClusterProfile, besides the labels of the region and the zone. Those of resources end in the name of
// the resource.
const (
	propertyClusterID = v1alpha1.Domain + "/cluster"
	propertyUID       = v1alpha1.Domain + "/cluster-uid"
	propertyCapacity  = "capacity." + v1alpha1.Domain + "/"
	propertyFree      = "free." + v1alpha1.Domain + "/"
)

// mostValue is the longest value of a property.
const mostValue = 1024

// Snapshot is the input of Decide.
type Snapshot struct {
	Binding *v1alpha1.ClusterBinding
	// Nodes are its virtual nodes, and Pods are on them. Known reports that the pods are known.
	Nodes []*corev1.Node
	Pods  []corev1.Pod
	Known bool
	// Namespace is where the profiles are, and Existing is the one that is there, or nil.
	Namespace string
	Existing  *inventory.ClusterProfile
	Now       time.Time
	// Exact is set when small changes of what is free are due to be written.
	Exact bool
}

// Plan is what to write: at most one of both.
type Plan struct {
	// Create is a profile to create. Its status is written afterwards.
	Create *inventory.ClusterProfile
	// Status is the profile with another status.
	Status *inventory.ClusterProfile
	// Foreign reports that somebody else has a profile of that name.
	Foreign bool
	// Later reports that a small change waits until it is due.
	Later bool
}

// Decide decides about the ClusterProfile of a binding. It goes with the binding, which owns it. Until then, it says that
// the binding is being deleted.
func Decide(s Snapshot) Plan {
	switch leaving := !s.Binding.DeletionTimestamp.IsZero(); {
	case s.Existing == nil && leaving:
		return Plan{}
	case s.Existing == nil:
		return Plan{Create: s.profile()}
	case leaving && !metav1.IsControlledBy(s.Existing, s.Binding):
		return Plan{}
	case !metav1.IsControlledBy(s.Existing, s.Binding):
		return Plan{Foreign: true}
	case !s.Existing.DeletionTimestamp.IsZero():
		return Plan{}
	}
	after := s.Existing.DeepCopy()
	after.Status.Version.Kubernetes = s.Binding.Status.KubernetesVersion
	after.Status.Conditions = s.conditions()
	after.Status.Properties = s.properties()
	if equality.Semantic.DeepEqual(s.Existing.Status, after.Status) {
		return Plan{}
	}
	if !s.Exact && onlyALittle(s.Existing.Status, after.Status) {
		return Plan{Later: true}
	}
	return Plan{Status: after}
}

// onlyALittle reports whether nothing has changed but what is free, and that by a small part of the capacity: a pod among
// many has come or gone.
func onlyALittle(before, after inventory.ClusterProfileStatus) bool {
	shown, left, all := quantities(before, propertyFree), quantities(after, propertyFree), quantities(after, propertyCapacity)
	before, after = *before.DeepCopy(), *after.DeepCopy()
	isFree := func(p inventory.Property) bool { return strings.HasPrefix(p.Name, propertyFree) }
	before.Properties, after.Properties = slices.DeleteFunc(before.Properties, isFree), slices.DeleteFunc(after.Properties, isFree)
	return equality.Semantic.DeepEqual(before, after) && spill.Similar(shown, left, all)
}

// quantities returns the properties of resources that begin so. It leaves out what is no quantity: somebody has edited it.
func quantities(status inventory.ClusterProfileStatus, prefix string) corev1.ResourceList {
	values := corev1.ResourceList{}
	for _, p := range status.Properties {
		name, of := strings.CutPrefix(p.Name, prefix)
		if quantity, err := resource.ParseQuantity(p.Value); of && err == nil {
			values[corev1.ResourceName(name)] = quantity
		}
	}
	return values
}

func (s Snapshot) profile() *inventory.ClusterProfile {
	return &inventory.ClusterProfile{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Binding.Name,
			Labels: map[string]string{inventory.LabelClusterManagerKey: ClusterManager, v1alpha1.LabelCluster: s.Binding.Spec.ClusterID},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterBinding", Name: s.Binding.Name, UID: s.Binding.UID, Controller: ptr.To(true),
			}},
		},
		Spec: inventory.ClusterProfileSpec{DisplayName: s.Binding.Spec.ClusterID, ClusterManager: inventory.ClusterManager{Name: ClusterManager}},
	}
}

// conditions returns those of the profile, which are two of the binding's. What others have added stays.
func (s Snapshot) conditions() []metav1.Condition {
	all := slices.Clone(s.Existing.Status.Conditions)
	for as, of := range map[string]string{inventory.ClusterConditionControlPlaneHealthy: v1alpha1.BindingConnected, v1alpha1.BindingReady: v1alpha1.BindingReady} {
		found := meta.FindStatusCondition(s.Binding.Status.Conditions, of)
		if found == nil {
			continue
		}
		condition := metav1.Condition{Type: as, Status: found.Status, Reason: found.Reason, Message: text.Clean(found.Message), LastTransitionTime: found.LastTransitionTime}
		meta.SetStatusCondition(&all, condition)
	}
	slices.SortFunc(all, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return all
}

// properties returns those of the profile. One that has not changed keeps the time at which it was observed first: each
// new time would be a write.
func (s Snapshot) properties() []inventory.Property {
	values := map[string]string{propertyClusterID: s.Binding.Spec.ClusterID, propertyUID: s.Binding.Status.RemoteClusterUID}
	for _, key := range []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone} {
		values[key] = s.label(key)
	}
	maps.Copy(values, s.resources())
	before := map[string]inventory.Property{}
	for _, p := range s.Existing.Status.Properties {
		before[p.Name] = p
	}
	var all []inventory.Property
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := text.Bound(values[name], mostValue)
		switch was, known := before[name]; {
		case value == "":
		case known && was.Value == value:
			all = append(all, was)
		default:
			all = append(all, inventory.Property{Name: name, Value: value, LastObservedTime: metav1.NewTime(s.Now.Truncate(time.Second))})
		}
	}
	return all
}

// label returns the values of a label on the virtual nodes.
func (s Snapshot) label(key string) string {
	var values []string
	for _, node := range s.Nodes {
		if value := node.Labels[key]; value != "" {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ",")
}

// resources returns what the virtual nodes have, and what of it is free: what others leave, without the requests of the
// consumer's pods. While the pods are not known, the profile keeps what it says.
func (s Snapshot) resources() map[string]string {
	values := map[string]string{}
	if !s.Known {
		for _, p := range s.Existing.Status.Properties {
			if strings.HasPrefix(p.Name, propertyCapacity) || strings.HasPrefix(p.Name, propertyFree) {
				values[p.Name] = p.Value
			}
		}
		return values
	}
	var capacity, free, used spill.Size
	for _, node := range s.Nodes {
		capacity, free = capacity.Plus(spill.SizeOfList(node.Status.Capacity)), free.Plus(spill.SizeOfList(node.Status.Allocatable))
	}
	for i := range s.Pods {
		used = used.Plus(spill.InUse(&s.Pods[i]))
	}
	left := free.Minus(used).Requests()
	for name, quantity := range capacity.Requests() {
		values[propertyCapacity+string(name)] = quantity.String()
		rest := left[name]
		values[propertyFree+string(name)] = rest.String()
	}
	return values
}
