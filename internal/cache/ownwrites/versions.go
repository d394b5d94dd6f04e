package ownwrites

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StaleRetry is when to retry an object whose last write the cache does not show yet. By then it nearly
// always does.
const StaleRetry = 100 * time.Millisecond

// Versions remembers the last version that this process wrote of each object, for callers that need no more.
// A decision on an older version would repeat a write, or the API server would refuse it if it is locked to a
// version. The zero value is ready for use. It is for objects of one kind.
type Versions struct{ written sync.Map }

type version struct {
	number string
	at     time.Time
}

// Expect notes the version in the API server's answer to a write.
func (v *Versions) Expect(obj client.Object) {
	v.written.Store(client.ObjectKeyFromObject(obj), version{obj.GetResourceVersion(), time.Now()})
}

func (v *Versions) last(obj client.Object) (version, bool) {
	found, _ := v.written.Load(client.ObjectKeyFromObject(obj))
	last, ok := found.(version)
	return last, ok
}

// IsStale reports whether a cached object is older than the last write, within its Lifetime. After a restore
// from a backup, the API server may never reach that version again.
func (v *Versions) IsStale(cached client.Object) bool {
	last, ok := v.last(cached)
	return ok && time.Since(last.at) <= Lifetime && olderVersion(cached.GetResourceVersion(), last.number)
}

// IsLast reports whether an object is as last written. If not, somebody else may have changed it.
func (v *Versions) IsLast(obj client.Object) bool {
	last, ok := v.last(obj)
	return ok && obj.GetResourceVersion() == last.number
}

// Forget drops what is known about a deleted object.
func (v *Versions) Forget(name types.NamespacedName) { v.written.Delete(name) }
