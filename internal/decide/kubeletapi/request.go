// Package kubeletapi decides, without any I/O, what becomes of a request to the kubelet
// API of a virtual node: what it asks for, which pod of which provider it may reach, and
// what is sent there.
//
// An API server asks a kubelet in the kubelet's own terms:
//
//	GET       /containerLogs/NAMESPACE/POD/CONTAINER
//	GET|POST  /exec/NAMESPACE/POD/CONTAINER
//	GET|POST  /attach/NAMESPACE/POD/CONTAINER
//	GET|POST  /portForward/NAMESPACE/POD
//
// and the API server of a provider is asked in those of the Kubernetes API. No path names
// a node: the pod does.
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

// Action is what a request wants of a pod.
type Action string

// The actions, as the paths of a kubelet call them.
const (
	Logs        Action = "containerLogs"
	Exec        Action = "exec"
	Attach      Action = "attach"
	PortForward Action = "portForward"
)

// Subresource is what the Kubernetes API calls the action.
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

// Verb is what a user must be allowed to do with nodes/proxy. A WebSocket is opened by a
// GET: to go by the method would let whoever may read run commands.
func (a Action) Verb() string {
	if a == Logs {
		return "get"
	}
	return "create"
}

// Request is what was asked for, with names that have been checked.
type Request struct {
	Action Action
	Pod    types.NamespacedName
	// Container is empty for PortForward.
	Container string
	// Query is that for the provider's API server.
	Query url.Values
}

// Refusal is the answer to a request that goes no further.
//
// The API server drops the text of some answers to a request for logs, among them 404,
// 409 and 503. So what is wrong with a pod is 400, and with a provider 502, whose texts
// kubectl shows.
type Refusal struct {
	Reason  Reason
	Code    int
	Message string
}

// Reason is why a request goes no further, for counting.
type Reason string

// The reasons.
const (
	Unauthenticated Reason = "Unauthenticated"
	Unauthorized    Reason = "Unauthorized"
	BadRequest      Reason = "BadRequest"
	// NoPod: the pod or the container is not there, or has ended.
	NoPod  Reason = "NoPod"
	Paused Reason = "Paused"
	// NotConnected: nothing is known of the provider, or of where the pod is.
	NotConnected Reason = "NotConnected"
	// ProviderFailed: the provider refuses, answers with an error, or does not answer.
	ProviderFailed Reason = "ProviderFailed"
	TooManyStreams Reason = "TooManyStreams"
	// Failed: the manager or the consumer's API server has.
	Failed Reason = "Failed"
)

func (r *Refusal) Error() string { return r.Message }

func refuse(reason Reason, code int, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Code: code, Message: text.Clean(fmt.Sprintf(format, args...))}
}

// Parse returns what a request asks for. Paths are taken as they are: nothing is cleaned,
// decoded or folded, since whoever does that differently would see another pod.
func Parse(method string, u *url.URL) (Request, *Refusal) {
	if u.RawPath != "" {
		return Request{}, refuse(BadRequest, http.StatusBadRequest, "the path must not have escaped characters")
	}
	if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return Request{}, refuse(BadRequest, http.StatusBadRequest, "the request must be for a path, and not as a proxy is asked")
	}
	segments := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	action, names := Action(segments[0]), segments[1:]
	want := 3
	switch action {
	case PortForward:
		want = 2
	case Logs, Exec, Attach:
	default:
		return Request{}, refuse(BadRequest, http.StatusNotFound, "a virtual node serves containerLogs, exec, attach and portForward, and nothing else of the kubelet API")
	}
	if len(names) != want {
		return Request{}, refuse(BadRequest, http.StatusNotFound, "the path of %s must have %d names, and has %d", action, want, len(names))
	}
	if method != http.MethodGet && (method != http.MethodPost || action == Logs) {
		return Request{}, refuse(BadRequest, http.StatusMethodNotAllowed, "%s cannot be asked for with the method %.16q", action, method)
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
