package importedcapacity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// snapshot is what a decision depends on.
type snapshot struct {
	bindings []v1alpha1.ClusterBinding
	// namespace is where the capacities are.
	namespace string
	// driver is the CSIDriver that is installed with Spillway, or nil. found are Spillway's capacities.
	driver *storagev1.CSIDriver
	found  []storagev1.CSIStorageCapacity
}

// plan is what to do, in this order. The scheduler asks for capacities while the driver says so. So each class of each
// provider has one before the driver does, and as long as it does.
type plan struct {
	// silence and ask are the driver, after it no longer makes the scheduler ask, or after it does.
	silence *storagev1.CSIDriver
	create  []*storagev1.CSIStorageCapacity
	change  []change
	ask     *storagev1.CSIDriver
	delete  []*storagev1.CSIStorageCapacity
	// again reports that a deleted capacity is created again.
	again bool
	// lacking are the bindings that import the room, if there is no driver.
	lacking []*v1alpha1.ClusterBinding
}

// change is a capacity before and after a change.
type change struct{ before, after *storagev1.CSIStorageCapacity }

// decide decides about the driver and all capacities.
func decide(s snapshot) plan {
	var p plan
	var importing []*v1alpha1.ClusterBinding
	for i := range s.bindings {
		if s.bindings[i].Spec.Import.CSI {
			importing = append(importing, &s.bindings[i])
		}
	}
	switch asks := s.driver != nil && ptr.Deref(s.driver.Spec.StorageCapacity, false); {
	case s.driver == nil:
		p.lacking = importing
	case len(importing) > 0 && !asks:
		p.ask = asking(s.driver, true)
	case len(importing) == 0 && asks:
		p.silence = asking(s.driver, false)
	}
	desired := map[string]*storagev1.CSIStorageCapacity{}
	if len(importing) > 0 {
		desired = s.desired()
	}
	p.compare(s.found, desired)
	return p
}

// compare plans what turns found into desired.
func (p *plan) compare(found []storagev1.CSIStorageCapacity, desired map[string]*storagev1.CSIStorageCapacity) {
	for i := range found {
		before, after := &found[i], desired[found[i].Name]
		delete(desired, before.Name)
		switch {
		case after == nil:
			p.delete = append(p.delete, before)
		case after.StorageClassName != before.StorageClassName, !equality.Semantic.DeepEqual(after.NodeTopology, before.NodeTopology): // These cannot be changed.
			p.delete, p.again = append(p.delete, before), true
		case !equality.Semantic.DeepEqual([]any{after.Capacity, after.MaximumVolumeSize}, []any{before.Capacity, before.MaximumVolumeSize}):
			changed := before.DeepCopy()
			changed.Capacity, changed.MaximumVolumeSize = after.Capacity, after.MaximumVolumeSize
			p.change = append(p.change, change{before, changed})
		}
	}
	for _, capacity := range desired {
		p.create = append(p.create, capacity)
	}
	slices.SortFunc(p.create, func(a, b *storagev1.CSIStorageCapacity) int { return cmp.Compare(a.Name, b.Name) })
}

// desired returns a capacity for each StorageClass that a binding maps, by its name.
func (s snapshot) desired() map[string]*storagev1.CSIStorageCapacity {
	all := map[string]*storagev1.CSIStorageCapacity{}
	for i := range s.bindings {
		for _, m := range s.bindings[i].Spec.Classes {
			if m.Kind == v1alpha1.ClassStorage {
				capacity := s.capacity(&s.bindings[i], m)
				all[capacity.Name] = capacity
			}
		}
	}
	return all
}

// unlimited is the room of a provider that reports nothing.
func unlimited() *resource.Quantity { return resource.NewQuantity(math.MaxInt64, resource.BinarySI) }

// capacity says how much room a provider has for volumes of a class. If that is not known, or not imported, there is
// enough, as if the scheduler did not ask.
func (s snapshot) capacity(binding *v1alpha1.ClusterBinding, m v1alpha1.ClassMapping) *storagev1.CSIStorageCapacity {
	clusterID := binding.Spec.ClusterID
	capacity := &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: nameOf(clusterID, m.Name),
			Labels:      map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway, v1alpha1.LabelCluster: clusterID},
			Annotations: map[string]string{v1alpha1.AnnotationImportedFrom: clusterID + "/" + m.RemoteName},
		},
		NodeTopology:     &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelCluster: clusterID}},
		StorageClassName: m.Name, Capacity: unlimited(),
	}
	i := slices.IndexFunc(binding.Status.Classes, func(c v1alpha1.ClassStatus) bool { return c.Kind == m.Kind && c.RemoteName == m.RemoteName })
	if binding.Spec.Import.CSI && i >= 0 && binding.Status.Classes[i].Capacity != nil {
		reported := binding.Status.Classes[i].DeepCopy() // The cache shares it.
		capacity.Capacity, capacity.MaximumVolumeSize = reported.Capacity, reported.MaximumVolumeSize
	}
	return capacity
}

// nameOf returns the name of the capacity of a class in a provider.
func nameOf(clusterID, class string) string {
	sum := sha256.Sum256([]byte(class))
	return v1alpha1.VirtualNodePrefix + clusterID + "-" + hex.EncodeToString(sum[:8])
}

// asking returns a driver that makes the scheduler ask for the room, or not.
func asking(driver *storagev1.CSIDriver, asks bool) *storagev1.CSIDriver {
	driver = driver.DeepCopy()
	driver.Spec.StorageCapacity = &asks
	return driver
}
