package clusterbinding

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// mostOverhead limits the overhead of an imported RuntimeClass, because the overhead counts against quotas in
// the consumer.
var mostOverhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")}

// imports returns the imported classes that the provider has, and the names of those that cannot be accepted. If the
// room for volumes is imported, it returns all mapped StorageClasses. While nothing is known about a class, its last entry stays.
func imports(s snapshot) (noted []v1alpha1.ClassStatus, refused []string) {
	for _, mapping := range s.Binding.Spec.Classes {
		isIt := func(c v1alpha1.ClassStatus) bool { return c.Kind == mapping.Kind && c.RemoteName == mapping.RemoteName }
		measured := s.Binding.Spec.Import.CSI && mapping.Kind == v1alpha1.ClassStorage
		if !mapping.Import && !measured || slices.ContainsFunc(noted, isIt) {
			continue
		}
		class := s.Connection.Classes.Of(mapping.Kind, mapping.RemoteName)
		if s.Connection.Phase != connection.Connected {
			class.Presence = field.ClassUnknown
		}
		switch class.Presence {
		case field.ClassMissing:
		case field.ClassThere:
			note, acceptable := noteOf(class)
			if measured {
				addRoom(&note, s, class.Storage.Provisioner)
			}
			if acceptable {
				noted = append(noted, note)
			} else {
				refused = append(refused, string(class.Kind)+" "+class.Name)
			}
		default:
			if i := slices.IndexFunc(s.Binding.Status.Classes, isIt); i >= 0 {
				noted = append(noted, s.Binding.Status.Classes[i])
			}
		}
	}
	return noted, refused
}

// noteOf returns what is needed to create the class in the consumer.
func noteOf(class connection.Class) (note v1alpha1.ClassStatus, acceptable bool) {
	note = v1alpha1.ClassStatus{Kind: class.Kind, RemoteName: class.Name}
	switch class.Kind {
	case v1alpha1.ClassPriority:
		note.Value = &class.Value
	case v1alpha1.ClassStorage:
		note.ReclaimPolicy, note.VolumeBindingMode, note.AllowVolumeExpansion = class.Storage.Reclaim, class.Storage.Binding, class.Storage.Expands
	case v1alpha1.ClassRuntime:
		for name, most := range mostOverhead {
			overhead, has := class.Overhead[name]
			if !has {
				continue
			}
			if overhead.Sign() < 0 || overhead.Cmp(most) > 0 {
				return note, false
			}
			if note.PodOverhead == nil {
				note.PodOverhead = corev1.ResourceList{}
			}
			note.PodOverhead[name] = overhead
		}
	}
	return note, true
}

// addRoom adds how much room the provider has for volumes of a StorageClass, if its driver reports that. While that is
// not known, what was noted last stays.
func addRoom(note *v1alpha1.ClassStatus, s snapshot, driver string) {
	if s.Connection.Room == nil {
		for _, last := range s.Binding.Status.Classes {
			if last.Kind == note.Kind && last.RemoteName == note.RemoteName {
				note.Capacity, note.MaximumVolumeSize = last.Capacity, last.MaximumVolumeSize
			}
		}
		return
	}
	if space, known := s.Connection.Room.Of(driver, note.RemoteName); known {
		note.Capacity, note.MaximumVolumeSize = resource.NewQuantity(space.Total, resource.BinarySI), resource.NewQuantity(space.Largest, resource.BinarySI)
	}
}
