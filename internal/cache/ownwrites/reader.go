// Package ownwrites reads a cache, and corrects it by this process's own writes that the cache does not show
// yet.
//
// A watch lags by milliseconds, and a pass right after a write would repeat it. Waiting for the cache would
// block a worker. Instead, the Reader keeps the API server's answer to a write until the cache has caught up
// with it, or shows the object's deletion. It compares resource versions to find out, which is allowed since
// Kubernetes 1.35 (KEP-5504), and possible on etcd before. The cache may never show a write, because the
// object was created and deleted while a watch was down. So the Reader believes a write for Lifetime only.
package ownwrites

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lifetime is how long the Reader believes a write that the cache does not show.
const Lifetime = 30 * time.Second

// Reader reads one cluster. It belongs to one connection: the caches of the next one start after all its
// writes.
type Reader struct {
	cache     client.Reader
	clock     clock.PassiveClock
	transform func(any) any // What to keep of an object; nil: everything.

	mu      sync.Mutex
	written map[key]write
}

type key struct {
	kind string
	types.NamespacedName
}

// kindOf distinguishes kinds. All metadata has one type, and carries its kind.
func kindOf(obj client.Object) string {
	if metadata, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return "metadata of " + metadata.Kind
	}
	return reflect.TypeOf(obj).Elem().Name()
}

type write struct {
	object client.Object
	what   outcome
	at     time.Time
	// unseen is set while the cache may not have shown the object yet. Then its absence there does not mean
	// that the object is gone.
	unseen bool
}

// outcome is what a write has done to an object.
type outcome int

const (
	stored outcome = iota
	deleting
	gone
)

// New returns a Reader of a cache.
func New(cache client.Reader, clock clock.PassiveClock) *Reader {
	return &Reader{cache: cache, clock: clock, written: map[key]write{}}
}

// WithTransform makes the Reader keep only what its cache keeps of written objects.
func (r *Reader) WithTransform(held func(any) any) *Reader {
	r.transform = held
	return r
}

// Get reads an object, or fails with NotFound. Do not change the result: it may be shared with the cache.
func (r *Reader) Get(ctx context.Context, name types.NamespacedName, into client.Object) error {
	id := key{kindOf(into), name}
	before, had := r.last(id)
	err := r.cache.Get(ctx, name, into)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading %T %s from the cache: %w", into, name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.written[id]
	if !ok { // Another reader may have seen the cache catch up after our read.
		last, ok = before, had
	}
	if !ok {
		return err
	}
	if r.clock.Since(last.at) > Lifetime || last.shownBy(into, err == nil) {
		delete(r.written, id)
		return err
	}
	if last.what == gone {
		return apierrors.NewNotFound(schema.GroupResource{Resource: id.kind}, name.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(last.object).Elem())
	return nil
}

// last returns the last write of an object, if it is still remembered.
func (r *Reader) last(id key) (write, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.written[id]
	return last, ok
}

// shownBy reports whether the cache has caught up with the write.
func (w write) shownBy(cached client.Object, found bool) bool {
	switch w.what {
	case gone:
		return !found || cached.GetUID() != w.object.GetUID()
	case deleting:
		if !found {
			return !w.unseen
		}
		return cached.GetUID() != w.object.GetUID() ||
			!cached.GetDeletionTimestamp().IsZero() && !longer(cached.GetDeletionGracePeriodSeconds(), w.object.GetDeletionGracePeriodSeconds())
	default:
		return found && !Older(cached, w.object)
	}
}

// longer reports whether a grace period is longer than the requested one. A faster deletion may follow a
// deletion.
func longer(grace, asked *int64) bool { return grace != nil && asked != nil && *grace > *asked }

// Older reports whether a is an older version than b, of the same kind; false if they cannot be compared.
func Older(a, b client.Object) bool {
	return olderVersion(a.GetResourceVersion(), b.GetResourceVersion())
}

func olderVersion(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// Expect notes the API server's answer to a create or patch.
func (r *Reader) Expect(obj client.Object) { r.note(obj, stored) }

// ExpectTerminating notes that obj is being deleted, with that grace period in seconds, or nil.
func (r *Reader) ExpectTerminating(obj client.Object, grace *int64) {
	going, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return // It never happens: a copy is one, too.
	}
	now := metav1.NewTime(r.clock.Now())
	going.SetDeletionTimestamp(&now)
	going.SetDeletionGracePeriodSeconds(grace)
	r.note(going, deleting)
}

// ExpectDeleted notes that obj is deleted for good.
func (r *Reader) ExpectDeleted(obj client.Object) { r.note(obj, gone) }

func (r *Reader) note(obj client.Object, what outcome) {
	if r.transform != nil {
		obj, _ = r.transform(obj).(client.Object) // The kind stays the same.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := key{kindOf(obj), client.ObjectKeyFromObject(obj)}
	last, ok := r.written[id]
	unseen := ok && last.object.GetUID() == obj.GetUID() && (last.unseen || last.what == stored)
	r.written[id] = write{obj, what, r.clock.Now(), unseen}
}

// Saw notes that the cache shows obj. It reports whether obj is as this process last wrote it, within Lifetime.
func (r *Reader) Saw(obj client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := key{kindOf(obj), client.ObjectKeyFromObject(obj)}
	last, ok := r.written[id]
	if !ok || !last.shownBy(obj, true) {
		return false
	}
	delete(r.written, id)
	return last.what == stored && r.clock.Since(last.at) <= Lifetime &&
		last.object.GetUID() == obj.GetUID() && last.object.GetResourceVersion() == obj.GetResourceVersion()
}

// Forget drops what is known about obj. Call it when the cache reports that obj is deleted or no longer
// selected.
func (r *Reader) Forget(obj client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := key{kindOf(obj), client.ObjectKeyFromObject(obj)}
	if last, ok := r.written[id]; ok && last.object.GetUID() == obj.GetUID() && !Older(obj, last.object) {
		delete(r.written, id)
	}
}

// Missing handles an object that the cache has dropped because a list of that version lacks it. The watch was
// down when the object was deleted, so the cache's last version of it says nothing about later writes.
func (r *Reader) Missing(obj client.Object, listed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := key{kindOf(obj), client.ObjectKeyFromObject(obj)}
	last, ok := r.written[id]
	if !ok || last.object.GetUID() != obj.GetUID() {
		return
	}
	if order, err := resourceversion.CompareResourceVersion(listed, last.object.GetResourceVersion()); err == nil && order >= 0 {
		delete(r.written, id)
	}
}

// Drop forgets the writes of an object, whatever the cache shows.
func (r *Reader) Drop(obj client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, key{kindOf(obj), client.ObjectKeyFromObject(obj)})
}

// Unshown returns the names of the objects of obj's kind about which the Reader may know more than the cache.
// A caller that lists the cache reads these again with Get.
func (r *Reader) Unshown(obj client.Object) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []types.NamespacedName
	for id := range r.written {
		if id.kind == kindOf(obj) {
			names = append(names, id.NamespacedName)
		}
	}
	return names
}

// IsStale reports whether the Reader may know more about an object than the cache.
func (r *Reader) IsStale(obj client.Object, name types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.written[key{kindOf(obj), name}]
	return ok
}
