package classes

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/gather"
)

const (
	// roomInterval is the time between two changes that followers get. Drivers report again with each volume.
	roomInterval = 10 * time.Second
	// mostReports is how many drivers, or reports, are kept. Of a provider with more, nothing is known.
	mostReports = 10_000
)

// Room knows what the CSI drivers of a provider report of the room for volumes (CSIStorageCapacity), during one
// connection. It lists and watches that only while it is wanted. A nil one knows nothing.
type Room struct {
	config     *rest.Config
	httpClient *http.Client
	debouncer  *gather.Debouncer

	mu        sync.Mutex
	stop      context.CancelFunc // Set while the reports are watched.
	drivers   *reports[bool]
	spaces    *reports[space]
	last      *connection.Room
	followers []func()
}

// space is what a driver reports for one class in one part of the provider.
type space struct {
	class string
	connection.Space
}

// NewRoom returns the Room of a new connection. Nothing is watched before Want.
func NewRoom(config *rest.Config, httpClient *http.Client, with clock.WithDelayedExecution) *Room {
	r := &Room{config: config, httpClient: httpClient}
	r.debouncer = gather.New(with, r.notify)
	return r
}

// Want begins or ends to watch the reports. Without the right, or with a provider that lacks them, nothing is known.
func (r *Room) Want(ctx context.Context, wanted bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case wanted == (r.stop != nil):
		return
	case !wanted:
		r.stop()
		r.stop, r.drivers, r.spaces = nil, nil, nil
		r.debouncer.Trigger()
		return
	}
	watching, stop := context.WithCancel(ctx)
	r.stop = stop
	r.drivers = &reports[bool]{of: r, value: func(obj any) (bool, bool) {
		driver, ok := obj.(*storagev1.CSIDriver)
		return true, ok && ptr.Deref(driver.Spec.StorageCapacity, false)
	}}
	r.spaces = &reports[space]{of: r, value: spaceOf}
	if err := r.drivers.start(watching, classResource{"csidrivers", storagev1.SchemeGroupVersion.WithKind("CSIDriver"), &storagev1.CSIDriver{}}); err != nil {
		connection.End(ctx, err)
		return
	}
	if err := r.spaces.start(watching, classResource{"csistoragecapacities", storagev1.SchemeGroupVersion.WithKind("CSIStorageCapacity"), &storagev1.CSIStorageCapacity{}}); err != nil {
		connection.End(ctx, err)
	}
}

// spaceOf returns what one report says. Without a maximum size, a volume may have the whole capacity.
func spaceOf(obj any) (space, bool) {
	report, ok := obj.(*storagev1.CSIStorageCapacity)
	if !ok || report.Capacity == nil {
		return space{}, ok // Kubernetes takes it for no room.
	}
	s := space{class: report.StorageClassName, Space: connection.Space{Total: bytes(report.Capacity)}}
	if s.Largest = s.Total; report.MaximumVolumeSize != nil {
		s.Largest = bytes(report.MaximumVolumeSize)
	}
	return s, true
}

// bytes returns a quantity as a number that is not negative.
func bytes(q *resource.Quantity) int64 {
	if q.Sign() < 0 {
		return 0
	}
	if q.CmpInt64(math.MaxInt64) > 0 {
		return math.MaxInt64
	}
	return q.Value()
}

// Follow calls the follower a moment after the room has changed, until ctx ends.
func (r *Room) Follow(ctx context.Context, follower func(*connection.Room)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followers = append(r.followers, func() {
		if ctx.Err() == nil {
			r.mu.Lock()
			last := r.last
			r.mu.Unlock()
			follower(last)
		}
	})
}

// notify calls the followers if anything has changed.
func (r *Room) notify() {
	r.mu.Lock()
	now := r.now()
	if equality.Semantic.DeepEqual(r.last, now) {
		r.mu.Unlock()
		return
	}
	r.last = now
	followers := slices.Clone(r.followers)
	r.mu.Unlock()
	for _, follower := range followers {
		follower()
	}
}

// now returns what is known. The lock must be held.
func (r *Room) now() *connection.Room {
	if r.stop == nil || !r.drivers.answered || !r.spaces.answered {
		return nil
	}
	if !r.drivers.known() || !r.spaces.known() {
		return &connection.Room{}
	}
	room := &connection.Room{Drivers: slices.Sorted(maps.Keys(r.drivers.found)), Classes: map[string]connection.Space{}}
	for _, part := range r.spaces.found {
		of := room.Classes[part.class]
		of.Largest = max(of.Largest, part.Largest)
		of.Total += min(part.Total, math.MaxInt64-of.Total)
		room.Classes[part.class] = of
	}
	for class, of := range room.Classes {
		room.Classes[class] = connection.Space{Total: rounded(of.Total), Largest: rounded(of.Largest)}
	}
	return room
}

// rounded returns a number rounded down to its first four binary digits. Each volume changes the room, and each change
// is a write in the consumer.
func rounded(n int64) int64 {
	if more := bits.Len64(uint64(n)) - 4; more > 0 { //nolint:gosec // It is not negative.
		return n >> more << more
	}
	return n
}

// reports are the objects of one kind, as the store of a Reflector.
type reports[T any] struct {
	of *Room
	// value returns what is kept of an object, and whether anything is.
	value func(obj any) (T, bool)

	// Guarded by the lock of Room:
	answered, unreadable bool
	found                map[string]T
}

// start begins the watch. It ends with ctx.
func (s *reports[T]) start(ctx context.Context, of classResource) error {
	from, err := of.client(s.of.config, s.of.httpClient)
	if err != nil {
		return fmt.Errorf("asking for the %s: %w", of.name, err)
	}
	silent := logr.Discard() // The Reflector would log each refusal, again and again.
	reflector := toolscache.NewReflectorWithOptions(&classListWatch{from, s.failed}, of.object, s, toolscache.ReflectorOptions{Name: of.name, Logger: &silent})
	go reflector.RunWithContext(log.IntoContext(ctx, silent))
	return nil
}

// known reports whether all objects are known. The lock of Room must be held.
func (s *reports[T]) known() bool { return !s.unreadable && len(s.found) < mostReports }

// change notes an answer. An answer after the end changes nothing that followers see.
func (s *reports[T]) change(change func()) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	first := !s.answered
	change()
	if first {
		s.of.debouncer.Trigger()
	} else {
		s.of.debouncer.TriggerAfter(roomInterval)
	}
	return nil
}

func (s *reports[T]) put(obj any) {
	object, ok := obj.(client.Object)
	if !ok {
		return
	}
	key := keyOf(object)
	value, kept := s.value(obj)
	if _, there := s.found[key]; kept && (there || len(s.found) < mostReports) {
		s.found[key] = value
	} else if !kept {
		delete(s.found, key)
	}
}

// keyOf returns the name of an object, with its namespace if it has one.
func keyOf(object client.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// Add implements ReflectorStore.
func (s *reports[T]) Add(obj any) error { return s.change(func() { s.put(obj) }) }

// Update implements ReflectorStore.
func (s *reports[T]) Update(obj any) error { return s.Add(obj) }

// Delete implements ReflectorStore.
func (s *reports[T]) Delete(obj any) error {
	object, ok := obj.(client.Object)
	if !ok {
		return nil
	}
	return s.change(func() { delete(s.found, keyOf(object)) })
}

// Replace implements ReflectorStore.
func (s *reports[T]) Replace(all []any, _ string) error {
	return s.change(func() {
		s.answered, s.unreadable, s.found = true, false, map[string]T{}
		for _, obj := range all {
			s.put(obj)
		}
	})
}

// Resync implements ReflectorStore.
func (*reports[T]) Resync() error { return nil }

// failed notes that the kind may not be read, or does not exist. After other errors, the Reflector asks again.
func (s *reports[T]) failed(err error) {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		_ = s.change(func() { s.answered, s.unreadable = true, true })
	}
}

var _ toolscache.ReflectorStore = &reports[bool]{}
