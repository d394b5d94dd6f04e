// Package consumer learns from the answers of the consumer's API server what concerns the manager as a whole:
// whether the API server refuses writes, and whether the cluster was restored from a backup. It sits below
// all clients and sees every request, so no controller can bypass it.
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
	// refusedFor is how long a refused write counts if nobody tries it again, because it may not be needed
	// any more. A write that is still needed is tried at least every five minutes.
	refusedFor = 10 * time.Minute
	// mostPaths limits how many refused objects are remembered for each kind of write. mostSaid limits how
	// many kinds of writes a message quotes, one answer for each, and mostMessage the characters of each quotation.
	mostPaths, mostSaid, mostMessage = 1000, 3, 512
)

// Refusals knows which writes the consumer refuses. Either the manager's account lacks the right, or an
// admission policy or webhook denies the write. Events do not count: a refused event is not sent again, so a
// later success could not be seen. Tokens do not count either: an administrator grants them per namespace, and the
// pods there say if they are missing.
type Refusals struct {
	// Who returns the name under which the consumer knows the manager's account; "" if unknown.
	Who   func() string
	Clock clock.PassiveClock

	events chan event.TypedGenericEvent[*v1alpha1.ClusterBinding]

	mu     sync.Mutex
	writes map[write]*refused
}

// write is one kind of write. Those to virtual nodes and to their Leases differ by node, because they concern only
// the binding of that node.
type write struct{ what, node string } // what is the verb and the resource.

// refused is one kind of write, which the consumer refuses for some objects.
type refused struct {
	message string               // The answer for the first object; it stays while any is refused.
	paths   map[string]time.Time // The time of each object's last refusal.
}

// NewRefusals returns Refusals that know of no refused write.
func NewRefusals(who func() string, c clock.PassiveClock) *Refusals {
	return &Refusals{Who: who, Clock: c, events: make(chan event.TypedGenericEvent[*v1alpha1.ClusterBinding], 1), writes: map[write]*refused{}}
}

// Wrap returns a transport that records refused writes.
func (r *Refusals) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		verb, writes := verbs[req.Method]
		about := resource(req.URL.Path)
		if err != nil || !writes || about == "events.events.k8s.io" || about == "events" || about == "serviceaccounts/token" {
			return resp, err
		}
		what := write{verb + " " + about, nodeOf(req.URL.Path)}
		switch {
		case slices.Contains(refusals, resp.StatusCode):
			var body []byte
			if body, err = keepBody(resp); err != nil {
				return nil, err
			}
			if message, ok := refusalMessage(resp.StatusCode, body); ok {
				r.note(what, req.URL.Path, message)
			}
		case resp.StatusCode < http.StatusMultipleChoices, resp.StatusCode == http.StatusNotFound:
			r.passed(what, req.URL.Path)
			if req.Method == http.MethodDelete {
				r.deleted(req.URL.Path)
			}
		}
		return resp, nil
	})
}

// Message says which writes the consumer refuses, for which account and why. It leaves out those that do not concern
// whoever asks: what is the verb and the resource, such as "create nodes"; node is the virtual node of a write to one, or
// to its Lease, and otherwise empty. again is how long until part of the text may expire. Both are zero if no write is refused.
func (r *Refusals) Message(concerns func(what, node string) bool) (text string, again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, answers := r.Clock.Now(), map[string]string{}
	for what, w := range r.writes {
		concerned := concerns(what.what, what.node)
		for path, at := range w.paths {
			if left := refusedFor - now.Sub(at); left <= 0 {
				delete(w.paths, path)
			} else if concerned {
				again = retry.Sooner(again, left)
			}
		}
		if len(w.paths) == 0 {
			delete(r.writes, what)
			continue
		}
		// One of each kind of write: those to many nodes must not hide the others.
		if said, known := answers[what.what]; concerned && (!known || w.message < said) {
			answers[what.what] = w.message
		}
	}
	said := slices.Sorted(maps.Values(answers))
	if more := len(said) - mostSaid; more > 0 {
		said = append(said[:mostSaid], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; "), again
}

// Events sends an event with an empty ClusterBinding when the result of Message has changed. It may merge
// several changes into one event.
func (r *Refusals) Events() <-chan event.TypedGenericEvent[*v1alpha1.ClusterBinding] { return r.events }

func (r *Refusals) note(what write, path, message string) {
	who := r.Who() // This may send a request to the consumer.
	r.mu.Lock()
	defer r.mu.Unlock()
	w, known := r.writes[what]
	if !known {
		if who != "" {
			who = " as " + who
		}
		w = &refused{message: fmt.Sprintf("to %s%s: %s", what.what, who, message), paths: map[string]time.Time{}}
		r.writes[what] = w
		r.notify()
	}
	if _, ok := w.paths[path]; ok || len(w.paths) < mostPaths {
		w.paths[path] = r.Clock.Now()
	}
}

// passed notes that a write succeeded, or that its object no longer exists.
func (r *Refusals) passed(what write, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.writes[what]
	if !ok {
		return
	}
	if delete(w.paths, path); len(w.paths) == 0 {
		delete(r.writes, what)
		r.notify()
	}
}

// deleted notes that an object was deleted. Other refused writes to it are not needed any more, or will be tried
// again.
func (r *Refusals) deleted(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, w := range r.writes {
		maps.DeleteFunc(w.paths, func(refused string, _ time.Time) bool { return refused == path || strings.HasPrefix(refused, path+"/") })
		if len(w.paths) == 0 {
			delete(r.writes, what)
			r.notify()
		}
	}
}

// notify enqueues the bindings. The caller holds the lock.
func (r *Refusals) notify() {
	select {
	case r.events <- event.TypedGenericEvent[*v1alpha1.ClusterBinding]{Object: &v1alpha1.ClusterBinding{}}:
	default: // An event is already pending.
	}
}

// verbs maps the HTTP methods of writes to RBAC verbs.
var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// resource returns the resource in a path, as an RBAC role names it: pods/status, or
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

// nodeOf returns the name of the node if a path is that of a node or of its Lease; "" otherwise.
func nodeOf(path string) string {
	for _, prefix := range []string{"/api/v1/nodes/", "/apis/coordination.k8s.io/v1/namespaces/" + corev1.NamespaceNodeLease + "/leases/"} {
		if _, rest, ok := strings.Cut(path, prefix); ok {
			name, _, _ := strings.Cut(rest, "/")
			return name
		}
	}
	return ""
}

// refusals are the status codes of a refused write. A policy or a webhook chooses which of them it returns.
var refusals = []int{http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusBadRequest}

// refusalMessage returns the message of a refusal. It ignores answers about an invalid object, because another
// message tells the object's owner. It also ignores that a namespace being deleted accepts no new objects, because
// that is normal.
func refusalMessage(code int, body []byte) (message string, ok bool) {
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

// mostBody limits how many bytes of an answer are read.
const mostBody = 1 << 20

// keepBody reads the body of a response. Others can still read it afterwards.
func keepBody(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err != nil {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("reading the consumer's answer: %w", err)
	}
	resp.Body = bufferedBody{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	return body, nil
}

// bufferedBody is a body whose beginning has been read.
type bufferedBody struct {
	io.Reader
	io.Closer
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
