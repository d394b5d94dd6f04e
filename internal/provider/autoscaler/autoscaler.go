// Package autoscaler knows for which pods of a provider its autoscaler has said that it starts no node, during one
// connection.
//
// # How it works
//
// Autoscalers say it in events about the pod. While the ClusterBinding says that the provider grows, three watches read
// these events, and no others. Of each, the UID of the pod and a part of the message are held.
//
//   - NotTriggerScaleUp, of the type Normal: Cluster Autoscaler, for each pod that stays unschedulable after a round in
//     which it has started nothing (kubernetes/autoscaler,
//     cluster-autoscaler/processors/status/eventing_scale_up_processor.go).
//   - FailedScaleUp, of the type Warning: the Cluster Autoscaler of GKE, if it has tried and got no machine ("Node scale up
//     in zones … associated with this pod failed: GCE out of resources. Pod is at risk of not being scheduled.").
//   - FailedScheduling, of the type Warning, and "Failed to schedule pod": Karpenter, if no NodePool can have a node for the
//     pod (kubernetes-sigs/karpenter, pkg/controllers/provisioning/scheduling/events.go). The component is karpenter, or
//     eks-auto-mode/compute. The scheduler's own events have the same reason, and are not read. Karpenter's
//     NoCompatibleInstanceTypes and InsufficientCapacityError are about NodePools and NodeClaims. After these, it says
//     FailedScheduling of each pod that it has no other node for.
//
// # What it trades away
//
// An answer counts also if the autoscaler changes its mind: then the pod gets a node, which says more. Of a provider that has more answers than mostAnswers, further ones are dropped, and these pods wait for their time
// to end. Without the right to read events, all of them do.
package autoscaler

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

const (
	// mostAnswers is how many events of each kind are held.
	mostAnswers = 10_000
	// mostSaid is how many characters of an autoscaler are kept.
	mostSaid = 256
	// byKarpenter begins the messages of Karpenter.
	byKarpenter = "Failed to schedule pod"
)

// selectors select the events, one watch each: field selectors have no "or".
var selectors = []string{
	"involvedObject.kind=Pod,reason=NotTriggerScaleUp",
	"involvedObject.kind=Pod,reason=FailedScaleUp",
	"involvedObject.kind=Pod,reason=FailedScheduling,source!=default-scheduler",
}

// said returns what an autoscaler has said in an event about a pod; "" if it is no refusal.
func said(event *corev1.Event) string {
	refusal := event.Reason == "NotTriggerScaleUp" || event.Reason == "FailedScaleUp" ||
		event.Reason == "FailedScheduling" && strings.HasPrefix(event.Message, byKarpenter)
	if !refusal || event.InvolvedObject.Kind != "Pod" || event.InvolvedObject.UID == "" {
		return ""
	}
	return field.Bounded(event.Reason+": "+event.Message, mostSaid)
}

// Answers has the refusals of a provider's autoscaler. A nil one has none.
type Answers struct {
	config     *rest.Config
	httpClient *http.Client

	mu        sync.Mutex
	stop      context.CancelFunc // Set while the events are watched.
	ours      func(namespace string) bool
	held      []*answers
	followers []func(pod types.NamespacedName)
}

// New returns the Answers of a new connection. Nothing is watched before Want.
func New(config *rest.Config, httpClient *http.Client) *Answers {
	return &Answers{config: config, httpClient: httpClient}
}

// concerns reports whether an event is in one of our namespaces. Other tenants' pods take no room.
func (a *Answers) concerns(event *corev1.Event) bool { return a.ours == nil || a.ours(event.Namespace) }

// Want begins or ends to watch the events about pods in the namespaces that are ours. It does not wait for an answer.
func (a *Answers) Want(ctx context.Context, wanted bool, ours func(namespace string) bool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case wanted == (a.stop != nil):
		return
	case !wanted:
		a.stop()
		a.stop, a.held = nil, nil
		return
	}
	core, err := corev1client.NewForConfigAndClient(a.config, a.httpClient)
	if err != nil {
		connection.End(ctx, fmt.Errorf("asking for the events of the provider: %w", err))
		return
	}
	a.ours = ours
	ctx, a.stop = context.WithCancel(ctx)
	silent := logr.Discard() // The Reflector would log each refusal, again and again.
	ctx = log.IntoContext(ctx, silent)
	for _, selector := range selectors {
		of := &answers{to: a, events: core.Events(""), selector: selector, said: map[types.UID]answer{}}
		a.held = append(a.held, of)
		go toolscache.NewReflectorWithOptions(of, &corev1.Event{}, of, toolscache.ReflectorOptions{Name: "autoscaler", Logger: &silent}).RunWithContext(ctx)
	}
}

// Follow calls the follower with each pod of the provider for which the autoscaler has begun to start no node, until ctx
// ends. The follower must not block.
func (a *Answers) Follow(ctx context.Context, follower func(pod types.NamespacedName)) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followers = append(a.followers, func(pod types.NamespacedName) {
		if ctx.Err() == nil {
			follower(pod)
		}
	})
}

// Declined returns what the autoscaler has said about a pod for which it starts no node; "" if it has not said so.
func (a *Answers) Declined(pod types.NamespacedName, uid types.UID) string {
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.held {
		if found, ok := of.said[uid]; ok && found.pod == pod {
			return found.text
		}
	}
	return ""
}

// tell tells the followers about pods with a new answer.
func (a *Answers) tell(pods []types.NamespacedName) {
	a.mu.Lock()
	followers := a.followers // The list only grows.
	a.mu.Unlock()
	for _, pod := range pods {
		for _, follower := range followers {
			follower(pod)
		}
	}
}
