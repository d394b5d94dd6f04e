// Package precondition makes an API server refuse writes to an object that was replaced
// or changed since we read it.
package precondition

import "sigs.k8s.io/controller-runtime/pkg/client"

// Locked makes a merge patch from before that the API server refuses if anybody has
// written in between.
func Locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// LockedKeeping is as Locked, but takes off and adds only those finalizers in which the
// two differ: before may not have those of others.
func LockedKeeping(before client.Object) client.Patch {
	return client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
}

// Exactly makes a delete refuse any object but the one seen.
func Exactly(obj client.Object) client.Preconditions {
	uid := obj.GetUID()
	return client.Preconditions{UID: &uid}
}
