// Package precondition has an API server refuse a write if the object is not the one,
// or not as, it was seen.
package precondition

import "sigs.k8s.io/controller-runtime/pkg/client"

// Locked makes a merge patch from before that the API server refuses if
// anybody has written in between.
func Locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// Exactly makes a delete refuse every object but the one that was seen.
func Exactly(obj client.Object) client.Preconditions {
	uid := obj.GetUID()
	return client.Preconditions{UID: &uid}
}
