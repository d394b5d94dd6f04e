package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// apiServer lists and watches ConfigMaps as an API server does: a watch continues after a version, unless the
// history before that is gone.
type apiServer struct {
	lists bool // It cannot begin a watch with all objects.

	mu                    sync.Mutex
	version, oldest       int
	objects               map[string]*corev1.ConfigMap
	history               []watch.Event
	stream                *watch.RaceFreeFakeWatcher
	listErrors, watchFail []error // Of the next requests.
	listed                int
}

// IsWatchListSemanticsUnSupported is what the Reflector asks.
func (s *apiServer) IsWatchListSemanticsUnSupported() bool { return s.lists }

func pop(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	first := (*errs)[0]
	*errs = (*errs)[1:]
	return first
}

func (s *apiServer) all() []corev1.ConfigMap {
	var all []corev1.ConfigMap
	for _, obj := range s.objects {
		all = append(all, *obj.DeepCopy())
	}
	slices.SortFunc(all, func(a, b corev1.ConfigMap) int { return versionOf(&a) - versionOf(&b) })
	return all
}

func versionOf(obj runtime.Object) int {
	version, _ := strconv.Atoi(obj.(*corev1.ConfigMap).ResourceVersion)
	return version
}

// ListWithContext implements ListerWatcherWithContext.
func (s *apiServer) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed++
	if err := pop(&s.listErrors); err != nil {
		return nil, err
	}
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}, Items: s.all()}, nil
}

// WatchWithContext implements ListerWatcherWithContext.
func (s *apiServer) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := pop(&s.watchFail); err != nil {
		return nil, err
	}
	stream := watch.NewRaceFreeFake()
	if options.SendInitialEvents != nil {
		s.listed++
		for _, obj := range s.all() {
			stream.Add(obj.DeepCopy())
		}
		stream.Action(watch.Bookmark, s.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
		s.stream = stream
		return stream, nil
	}
	from, err := strconv.Atoi(options.ResourceVersion)
	if err != nil || from < s.oldest {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("version %q is too old", options.ResourceVersion))
	}
	for _, event := range s.history {
		if versionOf(event.Object) > from {
			stream.Action(event.Type, event.Object.DeepCopyObject())
		}
	}
	s.stream = stream
	return stream, nil
}

// List implements ListerWatcher.
func (s *apiServer) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch implements ListerWatcher.
func (s *apiServer) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

func (s *apiServer) bookmark(annotations map[string]string) runtime.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(s.version), Annotations: annotations}}
}

// set creates or changes an object. Without a value, it deletes the object.
func (s *apiServer) set(name, value string) {
	before, existed := s.objects[name]
	kind, obj := watch.Added, configMap(name, value)
	switch {
	case value == "" && !existed:
		return
	case value == "":
		kind, obj = watch.Deleted, before.DeepCopy()
		delete(s.objects, name)
	case existed:
		kind = watch.Modified
	}
	s.version++
	obj.ResourceVersion = strconv.Itoa(s.version)
	if kind != watch.Deleted {
		s.objects[name] = obj
	}
	s.send(kind, obj)
	s.history = append(s.history, watch.Event{Type: kind, Object: obj.DeepCopy()})
}

func (s *apiServer) send(kind watch.EventType, obj runtime.Object) {
	if s.stream != nil && !s.stream.IsStopped() {
		s.stream.Action(kind, obj.DeepCopyObject())
	}
}

func (s *apiServer) fail(err *apierrors.StatusError) {
	status := err.Status()
	s.send(watch.Error, &status)
}

// compact forgets the history.
func (s *apiServer) compact() { s.oldest, s.history = s.version, nil }

// end ends the watch.
func (s *apiServer) end() {
	if s.stream != nil {
		s.stream.Stop()
	}
}

var errBroken = errors.New("broken")
