package ownwrites

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BehindRetry is when to look again at an object of which the cache does not show
// our last write yet: nearly always it does by then.
const BehindRetry = 100 * time.Millisecond

// Versions remembers which version of each object this process wrote last, for
// those who need not know more: what is decided on an older one repeats what has
// been done, and, if the write is locked to a version, is only refused. The zero
// value is ready. It is for objects of one kind.
type Versions struct {
	mu      sync.Mutex
	written map[types.NamespacedName]version
}

type version struct {
	number string
	at     time.Time
}

// Wrote notes the version that the API server has answered to a write with.
func (v *Versions) Wrote(obj client.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.written == nil {
		v.written = map[types.NamespacedName]version{}
	}
	v.written[client.ObjectKeyFromObject(obj)] = version{obj.GetResourceVersion(), time.Now()}
}

// Behind reports whether what was read from a cache is older than what was written,
// within the Lifetime of that: an API server that was restored from a backup may
// never come to that version again.
func (v *Versions) Behind(cached client.Object) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, ok := v.written[client.ObjectKeyFromObject(cached)]
	return ok && time.Since(last.at) <= Lifetime && olderVersion(cached.GetResourceVersion(), last.number)
}

// IsLast reports whether an object is as it was written last. If it is not, somebody
// else may have changed it.
func (v *Versions) IsLast(obj client.Object) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, ok := v.written[client.ObjectKeyFromObject(obj)]
	return ok && obj.GetResourceVersion() == last.number
}

// Forget drops what is known of an object, which is gone.
func (v *Versions) Forget(name types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.written, name)
}
