// Package kubeletapi decides, without any I/O, about a request to the kubelet API of a virtual node: what it
// asks for, which pod in which provider it may reach, and what is sent there.
//
// An API server sends a kubelet requests with these paths:
//
//	GET       /containerLogs/NAMESPACE/POD/CONTAINER
//	GET|POST  /exec/NAMESPACE/POD/CONTAINER
//	GET|POST  /attach/NAMESPACE/POD/CONTAINER
//	GET|POST  /portForward/NAMESPACE/POD
//
// The provider's API server gets the corresponding requests of the Kubernetes API. No path names a node: the
// pod determines it.
package kubeletapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/internal/field/text"
)

// Action is what a request does with a pod.
type Action string

// The actions, as the paths of a kubelet call them.
const (
	Logs        Action = "containerLogs"
	Exec        Action = "exec"
	Attach      Action = "attach"
	PortForward Action = "portForward"
)

// Subresource returns the name of the action in the Kubernetes API.
func (a Action) Subresource() string {
	switch a {
	case Logs:
		return "log"
	case PortForward:
		return "portforward"
	default:
		return string(a)
	}
}

// Verb returns the verb that a user must be allowed on nodes/proxy. A WebSocket is opened by a GET. If the
// method decided, a user who may only read could run commands.
func (a Action) Verb() string {
	if a == Logs {
		return "get"
	}
	return "create"
}

// Request is a parsed request. Its names have been checked.
type Request struct {
	Action Action
	Pod    types.NamespacedName
	// Container is empty for PortForward.
	Container string
	// Query is the query for the provider's API server.
	Query url.Values
}

// Refusal is the answer to a request that is not forwarded.
//
// The API server drops the text of some answers to a request for logs, among them 404, 409 and 503. So a
// problem with a pod is 400, and a problem with a provider 502. kubectl shows the text of those.
type Refusal struct {
	Reason  Reason
	Code    int
	Message string
}

// Reason is why a request is not forwarded, for metrics.
type Reason string

// The reasons.
const (
	Unauthenticated Reason = "Unauthenticated"
	Unauthorized    Reason = "Unauthorized"
	BadRequest      Reason = "BadRequest"
	// NoPod: the pod or the container does not exist, or has ended.
	NoPod  Reason = "NoPod"
	Paused Reason = "Paused"
	// NotConnected: the state of the provider, or the place of the pod, is unknown.
	NotConnected Reason = "NotConnected"
	// ProviderFailed: the provider refuses, answers with an error, or does not answer.
	ProviderFailed Reason = "ProviderFailed"
	TooManyStreams Reason = "TooManyStreams"
	// Failed: the manager or the consumer's API server has failed.
	Failed Reason = "Failed"
)

func (r *Refusal) Error() string { return r.Message }

func refuse(reason Reason, code int, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Code: code, Message: text.Clean(fmt.Sprintf(format, args...))}
}

// Parse returns what a request asks for. It does not clean, decode or fold paths, because another program
// might do that differently and see another pod.
func Parse(method string, u *url.URL) (Request, *Refusal) {
	if u.RawPath != "" {
		return Request{}, refuse(BadRequest, http.StatusBadRequest, "the path must not have escaped characters")
	}
	if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return Request{}, refuse(BadRequest, http.StatusBadRequest, "the request must be for a path, not for an absolute URL")
	}
	segments := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	action, names := Action(segments[0]), segments[1:]
	want := 3
	switch action {
	case PortForward:
		want = 2
	case Logs, Exec, Attach:
	default:
		return Request{}, refuse(BadRequest, http.StatusNotFound, "a virtual node serves only containerLogs, exec, attach and portForward of the kubelet API")
	}
	if len(names) != want {
		return Request{}, refuse(BadRequest, http.StatusNotFound, "the path of %s must have %d names, not %d", action, want, len(names))
	}
	if method != http.MethodGet && (method != http.MethodPost || action == Logs) {
		return Request{}, refuse(BadRequest, http.StatusMethodNotAllowed, "%s does not support the method %.16q", action, method)
	}
	request := Request{Action: action, Pod: types.NamespacedName{Namespace: names[0], Name: names[1]}}
	if action != PortForward {
		request.Container = names[2]
	}
	if refusal := request.checkNames(); refusal != nil {
		return Request{}, refusal
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Request{}, refuse(BadRequest, http.StatusBadRequest, "the query cannot be parsed")
	}
	var refusal *Refusal
	request.Query, refusal = queryFor(action, request.Container, query)
	return request, refusal
}

// checkNames refuses names that no object can have, such as "..".
func (r Request) checkNames() *Refusal {
	switch {
	case len(validation.ValidateNamespaceName(r.Pod.Namespace, false)) > 0:
		return refuse(BadRequest, http.StatusBadRequest, "the path has no valid name of a namespace: %.80q", r.Pod.Namespace)
	case len(validation.NameIsDNSSubdomain(r.Pod.Name, false)) > 0:
		return refuse(BadRequest, http.StatusBadRequest, "the path has no valid name of a pod: %.80q", r.Pod.Name)
	case r.Action != PortForward && len(utilvalidation.IsDNS1123Label(r.Container)) > 0:
		return refuse(BadRequest, http.StatusBadRequest, "the path has no valid name of a container: %.80q", r.Container)
	}
	return nil
}
