// Package kubelet serves the kubelet API of virtual nodes: logs, exec, attach and port-forward of offloaded
// pods, and the metrics for metrics-server.
//
// A request comes from the consumer's API server, or from anybody whom the API server authenticates and
// authorises (Access). Package kubeletapi decides from the caches what it may reach. It is then relayed to
// the provider's API server, byte by byte. Nothing is decoded, so exit codes, terminals and all versions of
// the SPDY and WebSocket protocols work between kubectl and the provider's kubelet.
//
// The decision is repeated once the provider has answered. While the stream is open, it is repeated whenever
// one of the two pods or the binding changes (Follow).
package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/metrics"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// answerTimeout is how long a provider may take to answer, from dialing to the header.
const answerTimeout = 10 * time.Second

// Access says who may send requests.
type Access interface {
	// Authenticate returns who sent the request, if that is known.
	Authenticate(r *http.Request) (user.Info, bool, error)
	// Authorize returns whether a user may do something, and if not, why.
	Authorize(ctx context.Context, who user.Info, what Permission) (allowed bool, why string, err error)
}

// Permission is what a user needs for a request.
type Permission struct {
	// Verb and Subresource, such as get and proxy, are for the Node.
	Verb, Subresource, Node string
	// Path is the path of the request.
	Path string
}

// Pods is what is known about pods on virtual nodes.
type Pods interface {
	// lookUp returns what is known about a pod at this moment, without waiting.
	lookUp(ctx context.Context, pod types.NamespacedName) (podSnapshot, error)
}

// Handler answers requests to the kubelet API.
type Handler struct {
	Pods   Pods
	Access Access
	// AnswerTimeout defaults to 10 s.
	AnswerTimeout time.Duration

	resources *resources
	open      streams
	unknown   unknown
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refusal := h.answer(w, r); refusal != nil {
		if refusal.Reason != "" { // Only streams have one.
			metrics.StreamsRefused.WithLabelValues(string(refusal.Reason)).Inc()
		}
		// What follows the header does not matter, and may never come.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTimeout))
		http.Error(w, refusal.Message, refusal.Code)
	}
}

// Usage returns what streams use, and have used.
func (h *Handler) Usage() map[metrics.StreamsOf]metrics.StreamUsage { return h.open.usage() }

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) *kubeletapi.Refusal {
	who, known, err := h.Access.Authenticate(r)
	if err != nil || !known {
		h.unknown.note(r, err)
		w.Header().Set("Connection", "close")
		return &kubeletapi.Refusal{Reason: kubeletapi.Unauthenticated, Code: http.StatusUnauthorized, Message: kubeletapi.WhoAsks}
	}
	if node, asked, refusal := kubeletapi.ParseMetrics(r.Method, r.URL); asked {
		if refusal == nil {
			refusal = h.allow(r.Context(), who, "metrics", Permission{"get", "metrics", node, r.URL.Path})
		}
		if refusal == nil {
			refusal = h.resources.serve(w, r, node)
		}
		return refusal
	}
	request, seen, refusal := h.admit(r, who)
	if refusal == nil {
		refusal = h.serve(w, r, request, seen)
	}
	return refusal
}

// admit authorises a request. It tells the user nothing about the pod before that.
func (h *Handler) admit(r *http.Request, who user.Info) (kubeletapi.Request, podSnapshot, *kubeletapi.Refusal) {
	request, refusal := kubeletapi.Parse(r.Method, r.URL)
	if refusal != nil {
		return request, podSnapshot{}, refusal
	}
	seen, err := h.Pods.lookUp(r.Context(), request.Pod)
	if err != nil {
		return request, podSnapshot{}, internal(r.Context(), err)
	}
	if refusal := h.allow(r.Context(), who, string(request.Action), Permission{request.Action.Verb(), "proxy", seen.node, r.URL.Path}); refusal != nil {
		return request, podSnapshot{}, refusal
	}
	return request, seen, nil
}

// allow refuses what a user may not do. action is what needs the permission.
func (h *Handler) allow(ctx context.Context, who user.Info, action string, what Permission) *kubeletapi.Refusal {
	allowed, why, err := h.Access.Authorize(ctx, who, what)
	switch {
	case err != nil:
		return internal(ctx, fmt.Errorf("asking whether user %s may use nodes/%s: %w", who.GetName(), what.Subresource, err))
	case !allowed:
		return &kubeletapi.Refusal{Reason: kubeletapi.Unauthorized, Code: http.StatusForbidden, Message: fmt.Sprintf(
			"user %q cannot %s resource \"nodes/%s\", which %s requires, of node %q: %s", who.GetName(), what.Verb, what.Subresource, action, what.Node, why)}
	}
	return nil
}

func internal(ctx context.Context, err error) *kubeletapi.Refusal {
	log.FromContext(ctx).Error(err, "a request to the kubelet API failed")
	return &kubeletapi.Refusal{Reason: kubeletapi.Failed, Code: http.StatusInternalServerError, Message: "the manager of this virtual node failed; see its log"}
}

// serve relays an admitted request until it ends.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, request kubeletapi.Request, seen podSnapshot) *kubeletapi.Refusal {
	target, refusal := kubeletapi.Decide(request, seen.Snapshot)
	if refusal != nil {
		return refusal
	}
	header, refusal := kubeletapi.Header(request.Action, r.Header)
	if refusal != nil {
		return refusal
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	one := &stream{request: request, target: target, identity: seen.streams.Identity, end: end}
	if refusal := h.open.open(one); refusal != nil {
		return refusal
	}
	defer h.open.close(one)

	relay := &relay{stream: one, from: seen.streams, patience: cmp.Or(h.AnswerTimeout, answerTimeout), mustEnd: func() *kubeletapi.Refusal { return h.mustEnd(ctx, one) }}
	path := "/api/v1/namespaces/" + target.Remote.Namespace + "/pods/" + target.Remote.Name + "/" + request.Action.Subresource()
	out, err := http.NewRequestWithContext(transport.WithTraffic(ctx, &one.traffic), r.Method, seen.streams.Location(path, request.Query).String(), nil)
	if err != nil {
		return internal(ctx, err)
	}
	out.Header = header
	relay.timeout()
	began := time.Now()
	defer func() { relay.report(ctx, began) }()
	if request.Action == kubeletapi.Logs {
		return relay.logs(w, out)
	}
	return relay.upgrade(w, out)
}

// mustEnd says why a stream must end now, or returns nil.
func (h *Handler) mustEnd(ctx context.Context, one *stream) *kubeletapi.Refusal {
	seen, err := h.Pods.lookUp(ctx, one.request.Pod)
	if err != nil {
		return internal(ctx, err)
	}
	if refusal := kubeletapi.MustEnd(one.request, one.target, seen.Snapshot); refusal != nil {
		return refusal
	}
	if seen.streams.Streams != nil && seen.streams.Identity != one.identity {
		return &kubeletapi.Refusal{Reason: kubeletapi.ProviderFailed, Code: http.StatusBadGateway, Message: "the credentials of ClusterBinding " + one.target.Binding + " are now for another account or cluster"}
	}
	return nil
}

// asRefusal returns the refusal that ended a context, or nil.
func asRefusal(ctx context.Context) *kubeletapi.Refusal {
	var refusal *kubeletapi.Refusal
	if errors.As(context.Cause(ctx), &refusal) {
		return refusal
	}
	return nil
}
