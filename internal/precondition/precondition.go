// Package precondition makes an API server refuse writes to an object that was replaced or changed since it
// was read.
package precondition

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Locked returns a merge patch from before. The API server refuses it if anybody has written the object in
// between.
func Locked(before client.Object) client.Patch {
	return ByEntry(client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), before)
}

// LockedKeeping is like Locked, but removes and adds only the finalizers in which the two objects differ,
// because before may lack others' finalizers.
func LockedKeeping(before client.Object) client.Patch {
	return ByEntry(client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{}), before)
}

// ByEntry limits a patch from before: it removes only the labels and annotations that before has. If the map
// ends up empty, a merge patch removes every key. That includes others' keys that before does not hold, such
// as kubectl's last-applied annotation. A strategic patch does the same to finalizers, which somebody may
// have added since. A merge patch contains all finalizers, so it needs a lock.
func ByEntry(patch client.Patch, before client.Object) client.Patch { return byEntry{patch, before} }

type byEntry struct {
	client.Patch
	before client.Object
}

// Data implements client.Patch.
func (p byEntry) Data(obj client.Object) ([]byte, error) {
	data, err := p.Patch.Data(obj)
	labels := len(obj.GetLabels()) == 0 && len(p.before.GetLabels()) > 0
	annotations := len(obj.GetAnnotations()) == 0 && len(p.before.GetAnnotations()) > 0
	finalizers := len(obj.GetFinalizers()) == 0 && len(p.before.GetFinalizers()) > 0 && p.Type() == types.StrategicMergePatchType
	if err != nil || !labels && !annotations && !finalizers {
		return data, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("reading a patch: %w", err)
	}
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		if labels {
			metadata["labels"] = nulls(p.before.GetLabels())
		}
		if annotations {
			metadata["annotations"] = nulls(p.before.GetAnnotations())
		}
		if finalizers {
			delete(metadata, "finalizers")
			metadata["$deleteFromPrimitiveList/finalizers"] = p.before.GetFinalizers()
		}
	}
	return json.Marshal(fields)
}

func nulls(all map[string]string) map[string]any {
	none := make(map[string]any, len(all))
	for key := range all {
		none[key] = nil
	}
	return none
}

// Exactly makes a delete fail unless the object has the same UID as obj.
func Exactly(obj client.Object) client.Preconditions {
	uid := obj.GetUID()
	return client.Preconditions{UID: &uid}
}
