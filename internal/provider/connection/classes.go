package connection

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Class is a class of a provider.
type Class struct {
	Kind     v1alpha1.ClassKind
	Name     string
	Presence field.Presence
	// Value is the value of a PriorityClass. Overhead is what a pod of a RuntimeClass needs in addition.
	// Storage is what a StorageClass says of its volumes. Each is set only if the class exists.
	Value    int32
	Overhead corev1.ResourceList
	Storage  field.Storage
}

// Classes are the classes that a binding maps to, ordered by kind and name.
type Classes []Class

// Of returns the class of that kind and name. It returns ClassUnread if the class is not in the list.
func (c *Classes) Of(kind v1alpha1.ClassKind, name string) Class {
	if c != nil {
		for _, class := range *c {
			if class.Kind == kind && class.Name == name {
				return class
			}
		}
	}
	return Class{Kind: kind, Name: name, Presence: field.ClassUnread}
}
