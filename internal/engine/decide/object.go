package decide

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is an object of an API server: controller-runtime's client.Object, without a client.
type Object interface {
	metav1.Object
	runtime.Object
}

// List is a list of objects: client.ObjectList.
type List interface {
	metav1.ListInterface
	runtime.Object
}

// Present reports whether obj is not nil. T is a pointer.
func Present[T Object](obj T) bool {
	var none T
	return any(obj) != any(none)
}

// KeyOf returns the namespace and the name of an object.
func KeyOf(obj Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// With returns a copy of a map, which may be nil, with one more entry.
func With(all map[string]string, key, value string) map[string]string {
	more := maps.Clone(all)
	if more == nil {
		more = map[string]string{}
	}
	more[key] = value
	return more
}
