package inject

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/requests"
)

// setup has an API server that commits every write, and the manager's client.
type setup struct {
	*Injector
	server    *httptest.Server
	committed atomic.Int32
	crashes   atomic.Int32
	cuts      atomic.Int32
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			s.committed.Add(1)
		}
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		encoder := scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion)
		_ = encoder.Encode(pod(), w)
	}))
	t.Cleanup(s.server.Close)
	s.Injector = New(Hooks{
		OnCrash: func() { s.crashes.Add(1) },
		OnCut:   func(string, recipe.Kind) { s.cuts.Add(1) },
	})
	return s
}

func pod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
}

func (s *setup) manager(t *testing.T) kubernetes.Interface {
	t.Helper()
	process := s.Process()
	config := &rest.Config{Host: s.server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return process.WrapNamed("p1", next) })
	return kubernetes.NewForConfigOrDie(config)
}

func create(ctx context.Context, c kubernetes.Interface) error {
	_, err := c.CoreV1().Pods("shop").Create(ctx, pod(), metav1.CreateOptions{})
	return err
}

var created = recipe.Point{Cluster: "p1", Verb: "create", Resource: "pods", Namespace: "shop", Name: "web", Occurrence: 1}

func TestFaults(t *testing.T) {
	crashed := func(err error) bool { return errors.Is(err, ErrCrashed) }
	fine := func(err error) bool { return err == nil }
	for kind, test := range map[recipe.Kind]struct {
		seen           func(error) bool
		commits        int32 // of the request with the fault
		crashes, cuts  int32
		again          func(error) bool // the next request of the same manager
		repeatedBySelf bool             // client-go repeats the request
	}{
		recipe.CrashBeforeSend:    {seen: crashed, commits: 0, crashes: 1, again: crashed},
		recipe.CrashAfterCommit:   {seen: crashed, commits: 1, crashes: 1, again: crashed},
		recipe.CrashAfterResponse: {seen: fine, commits: 1, crashes: 1, again: crashed},
		recipe.Conflict:           {seen: apierrors.IsConflict, again: fine},
		recipe.TooManyRequests:    {seen: fine, commits: 1, again: fine, repeatedBySelf: true},
		recipe.InternalError:      {seen: apierrors.IsInternalError, again: fine},
		recipe.Unavailable:        {seen: apierrors.IsServiceUnavailable, again: fine},
		recipe.TimeoutAfterCommit: {seen: apierrors.IsTimeout, commits: 1, again: fine},
		recipe.AlreadyExists:      {seen: apierrors.IsAlreadyExists, again: fine},
		recipe.NotFound:           {seen: apierrors.IsNotFound, again: fine},
		recipe.Forbidden:          {seen: apierrors.IsForbidden, again: fine},
		recipe.CutBlackHole:       {seen: fine, commits: 1, cuts: 1, again: fine},
		recipe.CutReset:           {seen: fine, commits: 1, cuts: 1, again: fine},
	} {
		t.Run(string(kind), func(t *testing.T) {
			s := newSetup(t)
			s.Arm(recipe.Recipe{{At: created, Kind: kind}})
			c := s.manager(t)
			if err := create(t.Context(), c); !test.seen(err) {
				t.Errorf("the manager sees %v", err)
			}
			if got := s.committed.Load(); got != test.commits {
				t.Errorf("%d commits, want %d", got, test.commits)
			}
			if err := create(t.Context(), c); !test.again(err) {
				t.Errorf("then it sees %v", err)
			}
			if s.crashes.Load() != test.crashes || s.cuts.Load() != test.cuts || len(s.Fired()) != 1 {
				t.Errorf("%d crashes, %d cuts, fired %v", s.crashes.Load(), s.cuts.Load(), s.Fired())
			}
			if err := create(t.Context(), s.manager(t)); err != nil {
				t.Errorf("a fresh manager sees %v", err)
			}
			if test.repeatedBySelf && len(s.Points()) != 4 {
				t.Errorf("the points are %v, want four", s.Points())
			}
		})
	}
}

func TestPoints(t *testing.T) {
	s := newSetup(t)
	s.hooks.Mask = func(name string) string {
		if name == "shop" {
			return "masked"
		}
		return name
	}
	c := s.manager(t)
	if err := create(t.Context(), c); err != nil { // Before Arm, so it does not count.
		t.Fatal(err)
	}
	s.Arm(nil)
	for range 2 {
		if err := create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CoreV1().Pods("shop").Create(t.Context(), pod(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Pods("shop").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	first := created
	first.Namespace = "masked"
	second := first
	second.Occurrence = 2
	if diff := cmp.Diff([]recipe.Point{first, second}, s.Points()); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if s.LastWrite().IsZero() || len(s.Log()) != 6 { // With a line for Arm, one for the request before, the dry run and the read.
		t.Errorf("last write %v, log %q", s.LastWrite(), s.Log())
	}
}

// The second fault of a pair is armed when the first has happened.
func TestPair(t *testing.T) {
	s := newSetup(t)
	third := created
	third.Occurrence = 3
	s.Arm(recipe.Recipe{{At: created, Kind: recipe.CrashAfterCommit}, {At: third, Kind: recipe.CrashBeforeSend}})
	if err := create(t.Context(), s.manager(t)); err == nil {
		t.Error("the first manager did not crash")
	}
	c := s.manager(t)
	if err := errors.Join(create(t.Context(), c)); err != nil {
		t.Error(err)
	}
	if err := create(t.Context(), c); !errors.Is(err, ErrCrashed) {
		t.Errorf("the second manager sees %v", err)
	}
	fired := s.Fired()
	if len(fired) != 2 || fired[0].Points != 1 || fired[1].Points != 3 || s.crashes.Load() != 2 {
		t.Errorf("fired %+v, %d crashes", fired, s.crashes.Load())
	}
}

// The object is removed before its deletion, so that it really does not exist.
func TestNotFoundIsTrue(t *testing.T) {
	s := newSetup(t)
	var removed requests.Target
	s.hooks.OnNotFound = func(_ string, target requests.Target) { removed = target }
	deleted := created
	deleted.Verb = requests.Delete
	s.Arm(recipe.Recipe{{At: deleted, Kind: recipe.NotFound}})
	if err := s.manager(t).CoreV1().Pods("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Errorf("the API server of this test finds everything, and yet: %v", err)
	}
	if removed.Name != "web" || s.committed.Load() != 1 {
		t.Errorf("removed %+v, %d requests were sent", removed, s.committed.Load())
	}
}
