package operator

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// TestNotes: an event with another note is a new one, as those of the manager are. client-go would count it.
func TestNotes(t *testing.T) {
	requests := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Method
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mgr, err := New(&rest.Config{Host: server.URL}, Options{Manager: ctrl.Options{
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	events := mgr.GetEventRecorder("test")
	about := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "a", UID: "a"}}
	for _, note := range []string{"until 12:05", "until 12:16"} {
		events.Eventf(about, nil, corev1.EventTypeNormal, "Waits", "Wait", "%s", note)
		select {
		case got := <-requests:
			if got != http.MethodPost {
				t.Errorf("%q makes a %s", note, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q makes no event in a minute", note)
		}
	}
}
