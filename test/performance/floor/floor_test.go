package floor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

// pods are more than there are writers.
const pods = 3 * writers

func podNamed(i int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "floor", Name: fmt.Sprintf("web-%d", i)}}
}

// server is an API server that answers with a status and an empty pod, once
// open is closed, and tells what it was asked.
type server struct {
	open   chan struct{}
	asked  chan string
	status int
}

func newServer(status int) *server {
	return &server{open: make(chan struct{}), asked: make(chan string, 2*pods), status: status}
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	<-s.open
	name := path.Base(r.URL.Path)
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_, name, _ = strings.Cut(string(body), `"name":"`)
		name, _, _ = strings.Cut(name, `"`)
	}
	s.asked <- r.Method + " " + name
	return &http.Response{
		StatusCode: s.status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"kind":"Pod","apiVersion":"v1"}`)),
	}, nil
}

func (s *server) clients(t *testing.T) kubernetes.Interface {
	config := &rest.Config{Host: "http://provider.example.com", Transport: s, QPS: -1}
	config.ContentType = "application/json"
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// TestFloorDoesNotWait has a provider that does not answer for a while: it must
// not hold up the creations and deletions in the consumer.
func TestFloorDoesNotWait(t *testing.T) {
	for what, nodes := range map[string]map[string]int{"direct": nil, "with a scheduler": {"node": 0}} {
		t.Run(what, func(t *testing.T) {
			consumer, provider := fake.NewClientset(), newServer(http.StatusOK)
			f := Floor{Consumer: consumer, Providers: []kubernetes.Interface{provider.clients(t)}, Namespace: "floor", Nodes: nodes}
			ctx, cancel := context.WithCancel(t.Context())
			r := f.running(ctx, cancel)
			for i := range pods {
				if err := r.Create(ctx, 0, podNamed(i)); err != nil {
					t.Fatal(err)
				}
				if nodes != nil { // It is seen with its node twice, and created once.
					bound := podNamed(i)
					bound.Spec.NodeName = "node"
					r.follow(ctx, watch.Modified, bound)
					r.follow(ctx, watch.Modified, bound)
				}
			}
			for i := range pods {
				if err := r.Delete(ctx, podNamed(i).Name); err != nil {
					t.Fatal(err)
				}
				if nodes != nil { // That it is deleted is seen twice, too.
					deleted := podNamed(i)
					deleted.Spec.NodeName, deleted.DeletionTimestamp = "node", &metav1.Time{}
					r.follow(ctx, watch.Modified, deleted)
					r.follow(ctx, watch.Modified, deleted)
				}
			}
			if got := len(consumer.Actions()); got != 2*pods {
				t.Errorf("%d requests to the consumer, want %d", got, 2*pods)
			}
			close(provider.open)
			var got, want []string
			created := map[string]bool{}
			for range 2 * pods {
				asked := <-provider.asked
				got = append(got, asked)
				if method, name, _ := strings.Cut(asked, " "); method == http.MethodPost {
					created[name] = true
				} else if !created[name] {
					t.Errorf("%s is deleted before it is created", name)
				}
			}
			for i := range pods {
				want = append(want, "POST "+podNamed(i).Name, "DELETE "+podNamed(i).Name)
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests to the provider (-want +got):\n%s", diff)
			}
			if err := r.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFloorTellsErrors(t *testing.T) {
	provider := newServer(http.StatusForbidden)
	close(provider.open)
	ctx, cancel := context.WithCancel(t.Context())
	r := Floor{Consumer: fake.NewClientset(), Providers: []kubernetes.Interface{provider.clients(t)}, Namespace: "floor"}.running(ctx, cancel)
	// Of the same writer, so that the first has been answered when the second is asked.
	for range 2 {
		hand(ctx, r.queues[0], "web-0", func(ctx context.Context) error { return r.createRemote(ctx, 0, podNamed(0)) })
		<-provider.asked
	}
	if r.Err() == nil {
		t.Error("that the provider refuses a pod is no error")
	}
	if err := r.Delete(ctx, "unknown"); err == nil {
		t.Error("deleting a pod that is nowhere is no error")
	}
	if err := r.Stop(); err == nil {
		t.Error("Stop forgets the error")
	}
}
