// Package consumer learns from the answers of the consumer's API server what concerns
// the manager as a whole: which of its writes are refused, and whether the cluster was
// restored from a backup. It looks at all requests, below all clients, so that no
// controller can forget to.
package consumer

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/retry"
)

const (
	// refusedFor is how long a refused write counts that is not tried again: whoever
	// wanted it may have no reason any more. What is wanted is tried at least every five
	// minutes.
	refusedFor = 10 * time.Minute
	// mostPaths bounds the refused objects that are remembered of one kind of write,
	// mostSaid the kinds of writes that are quoted, and mostMessage, in characters, each
	// quotation.
	mostPaths, mostSaid, mostMessage = 1000, 3, 512
)

// Refusals knows which writes the consumer refuses: its roles do not give the
// manager's account the right, or an admission policy or webhook denies it. Events do not
// count: nothing waits for one, and one that is refused is not sent again, so that it
// could not be seen whether the next one would be refused, too.
type Refusals struct {
	// Who returns the account as whom the consumer knows the manager; "" if unknown.
	Who   func() string
	Clock clock.PassiveClock

	events chan event.TypedGenericEvent[*v1alpha1.ClusterBinding]

	mu     sync.Mutex
	writes map[string]*refused // By verb and resource.
}

// refused is a kind of write that is refused for some objects.
type refused struct {
	said  string               // Of the first one; it stays while any is refused.
	paths map[string]time.Time // Since when each has not been tried again.
}

// NewRefusals returns Refusals that know of none.
func NewRefusals(who func() string, c clock.PassiveClock) *Refusals {
	return &Refusals{Who: who, Clock: c, events: make(chan event.TypedGenericEvent[*v1alpha1.ClusterBinding], 1), writes: map[string]*refused{}}
}

// Wrap returns a transport that notes what is refused.
func (r *Refusals) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		verb, writes := verbs[req.Method]
		about := resource(req.URL.Path)
		if err != nil || !writes || about == "events.events.k8s.io" || about == "events" {
			return resp, err
		}
		what := verb + " " + about
		switch {
		case slices.Contains(refusals, resp.StatusCode):
			var body []byte
			if body, err = keepBody(resp); err != nil {
				return nil, err
			}
			if message, ok := why(resp.StatusCode, body); ok {
				r.note(what, req.URL.Path, message)
			}
		case resp.StatusCode < http.StatusMultipleChoices, resp.StatusCode == http.StatusNotFound:
			r.passed(what, req.URL.Path)
			if req.Method == http.MethodDelete {
				r.gone(req.URL.Path)
			}
		}
		return resp, nil
	})
}

// Said says which writes are refused, by whom and why, and after how long something in
// it may have expired; "" and zero if none is.
func (r *Refusals) Said() (text string, again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Clock.Now()
	var said []string
	for what, w := range r.writes {
		for path, at := range w.paths {
			if left := refusedFor - now.Sub(at); left <= 0 {
				delete(w.paths, path)
			} else {
				again = retry.Sooner(again, left)
			}
		}
		if len(w.paths) == 0 {
			delete(r.writes, what)
			continue
		}
		said = append(said, w.said)
	}
	slices.Sort(said)
	if more := len(said) - mostSaid; more > 0 {
		said = append(said[:mostSaid], fmt.Sprintf("and %d more kinds of writes", more))
	}
	return strings.Join(said, "; "), again
}

// Events tells, with an empty ClusterBinding, that what Said returns has changed. It may
// leave out changes that the reader of an earlier event sees.
func (r *Refusals) Events() <-chan event.TypedGenericEvent[*v1alpha1.ClusterBinding] { return r.events }

func (r *Refusals) note(what, path, message string) {
	who := r.Who() // It may ask the consumer.
	r.mu.Lock()
	defer r.mu.Unlock()
	w, known := r.writes[what]
	if !known {
		if who != "" {
			who = " as " + who
		}
		w = &refused{said: fmt.Sprintf("to %s%s: %s", what, who, message), paths: map[string]time.Time{}}
		r.writes[what] = w
		r.tell()
	}
	if _, ok := w.paths[path]; ok || len(w.paths) < mostPaths {
		w.paths[path] = r.Clock.Now()
	}
}

// passed notes that a write was carried out, or that its object is gone.
func (r *Refusals) passed(what, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.writes[what]
	if !ok {
		return
	}
	if delete(w.paths, path); len(w.paths) == 0 {
		delete(r.writes, what)
		r.tell()
	}
}

// gone notes that an object was deleted: what else was wanted of it is not wanted any more,
// or is tried again.
func (r *Refusals) gone(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, w := range r.writes {
		maps.DeleteFunc(w.paths, func(refused string, _ time.Time) bool { return refused == path || strings.HasPrefix(refused, path+"/") })
		if len(w.paths) == 0 {
			delete(r.writes, what)
			r.tell()
		}
	}
}

// tell has the bindings looked at. The lock is held.
func (r *Refusals) tell() {
	select {
	case r.events <- event.TypedGenericEvent[*v1alpha1.ClusterBinding]{Object: &v1alpha1.ClusterBinding{}}:
	default: // They will be.
	}
}

// verbs are those of RBAC, by the method of a request that writes.
var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// resource is what a path is about, as in an RBAC role: pods/status, or
// namespacemaps.offloading.spillway.io.
func resource(path string) string {
	group := ""
	if _, rest, ok := strings.Cut(path, "/apis/"); ok {
		group, path, _ = strings.Cut(rest, "/")
		group = "." + group
	} else if _, rest, ok := strings.Cut(path, "/api/"); ok {
		path = rest
	}
	parts := strings.Split(path, "/")[1:] // After the version.
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	switch {
	case len(parts) == 0:
		return path
	case len(parts) > 2:
		return parts[0] + group + "/" + parts[2]
	default:
		return parts[0] + group
	}
}

// refusals are the codes with which a write may be refused: a policy or a webhook says
// which one.
var refusals = []int{http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusBadRequest}

// why is the message of a refusal. What is wrong with an object itself is for its owner,
// and is said there; a namespace that is going takes nothing new, for a good reason.
func why(code int, body []byte) (message string, ok bool) {
	message = string(body)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if status, is := object.(*metav1.Status); err == nil && is {
		message = status.Message
		if status.Details != nil && slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == corev1.NamespaceTerminatingCause }) {
			return "", false
		}
	}
	return text.Bound(message, mostMessage), code == http.StatusForbidden || strings.Contains(message, " denied request") || strings.Contains(message, " denied the request")
}

// mostBody bounds what is read of an answer.
const mostBody = 1 << 20

// keepBody returns the body of a response, which can still be read afterwards.
func keepBody(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err != nil {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("reading the consumer's answer: %w", err)
	}
	resp.Body = kept{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	return body, nil
}

// kept is a body of which the beginning was read.
type kept struct {
	io.Reader
	io.Closer
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
