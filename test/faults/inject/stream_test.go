package inject

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/spillway-io/spillway/test/faults/recipe"
)

// says returns a server whose watch shows a pod for each name; "bookmark" ends the initial events.
func says(t *testing.T, media string, names <-chan string) *httptest.Server {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		t.Fatalf("no serializer for %s", media)
	}
	embedded := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media+";stream=watch")
		encoder := restwatch.NewEncoder(streaming.NewEncoder(info.StreamSerializer.NewFrameWriter(w), info.StreamSerializer.Serializer), embedded)
		for {
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case name, ok := <-names:
				if !ok {
					return
				}
				event := &watch.Event{Type: watch.Added, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}}
				if name == "bookmark" {
					event.Type = watch.Bookmark
					event.Object.(*corev1.Pod).Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
				}
				if err := encoder.Encode(event); err != nil {
					t.Error(err)
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func watchPods(t *testing.T, i *Injector, server *httptest.Server, media string, initial bool) watch.Interface {
	t.Helper()
	process := i.Process()
	t.Cleanup(process.Kill)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{AcceptContentTypes: media}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return process.WrapNamed("p1", next) })
	w, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("").Watch(context.Background(), metav1.ListOptions{SendInitialEvents: &initial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// seen returns the first n events that a watch shows, or "end" if it ends before.
func seen(t *testing.T, w watch.Interface, n int) []string {
	t.Helper()
	var all []string
	for len(all) < n {
		event, ok := <-w.ResultChan()
		if !ok {
			return append(all, "end")
		}
		switch object := event.Object.(type) {
		case *corev1.Pod:
			all = append(all, object.Name)
		case *metav1.Status:
			if !apierrors.IsResourceExpired(apierrors.FromObject(object)) {
				t.Errorf("the error is %v", object)
			}
			all = append(all, fmt.Sprint(object.Code))
		default:
			t.Errorf("got %T", object)
		}
	}
	return all
}

func TestWatches(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
		for what, test := range map[string]struct {
			kind recipe.Kind
			at   int
			says []string
			want []string
		}{
			"nothing":         {says: []string{"a", "b"}, want: []string{"a", "b", "end"}},
			"held back":       {recipe.WatchHold, 2, []string{"a", "b", "c"}, []string{"a", "b", "c", "end"}},
			"shown twice":     {recipe.WatchDuplicate, 2, []string{"a", "b", "c"}, []string{"a", "b", "b", "c", "c", "end"}},
			"dropped":         {recipe.WatchDrop, 2, []string{"a", "b", "c"}, []string{"a", "410", "end"}},
			"gone":            {recipe.WatchGone, 1, []string{"a", "b"}, []string{"410", "end"}},
			"gone, from list": {recipe.WatchGone, 1, []string{"old", "older", "bookmark", "a"}, []string{"old", "older", "bookmark", "410", "end"}},
		} {
			t.Run(media+" "+what, func(t *testing.T) {
				t.Parallel()
				names := make(chan string, len(test.says))
				initial := false
				for _, name := range test.says {
					names <- name
					initial = initial || name == "bookmark"
				}
				close(names)
				i := New(Hooks{})
				var r recipe.Recipe
				if test.kind != "" {
					r = recipe.Recipe{{At: Stream{"p1", "pods"}.point(test.at), Kind: test.kind}}
				}
				i.Arm(r)
				w := watchPods(t, i, says(t, media, names), media, initial)
				if diff := cmp.Diff(test.want, seen(t, w, 100)); diff != "" {
					t.Errorf("seen (-want +got):\n%s", diff)
				}
				if len(i.Fired()) != len(r) {
					t.Errorf("fired %v", i.Fired())
				}
			})
		}
	}
}

// An event is held back as long as the manager writes.
func TestHoldUntilRest(t *testing.T) {
	names := make(chan string, 1)
	i := New(Hooks{})
	i.Arm(recipe.Recipe{{At: Stream{"p1", "pods"}.point(1), Kind: recipe.WatchHold}})
	w := watchPods(t, i, says(t, runtime.ContentTypeProtobuf, names), runtime.ContentTypeProtobuf, false)
	i.mu.Lock()
	i.inFlight++
	i.mu.Unlock()
	names <- "a"
	select {
	case event := <-w.ResultChan():
		t.Errorf("got %v", event)
	case <-time.After(2 * calm):
	}
	i.end()
	if got := seen(t, w, 1); got[0] != "a" {
		t.Errorf("got %v", got)
	}
}

// The watches of a crashed manager end, even if they are held back.
func TestCrashEndsWatches(t *testing.T) {
	names := make(chan string, 1)
	i := New(Hooks{})
	i.Arm(recipe.Recipe{{At: Stream{"p1", "pods"}.point(1), Kind: recipe.WatchHold}})
	server := says(t, runtime.ContentTypeProtobuf, names)
	process := i.Process()
	config := &rest.Config{Host: server.URL}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return process.WrapNamed("p1", next) })
	client := kubernetes.NewForConfigOrDie(config)
	w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	process.Kill()
	for range w.ResultChan() { // Wait for the end only.
	}
	if _, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a watch began after the crash")
	}
}
