package podadmission

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups="",resources=events,verbs=list

// told has what the owners of pods were told last, by namespace, reason and pod. It begins with the events of earlier
// managers, so one that starts tells nobody again.
type told struct {
	mu sync.Mutex
	of map[string]map[string]map[types.UID]string
}

// knows reports whether the events of a namespace that have this reason have been read.
func (t *told) knows(namespace, reason string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[namespace][reason] != nil
}

// begin notes the messages of events of a namespace, unless that was done before. Pods that do not wait any more are left out.
func (t *told) begin(namespace, reason string, said map[types.UID]string, waiting []corev1.Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[namespace][reason] != nil {
		return
	}
	if t.of == nil {
		t.of = map[string]map[string]map[types.UID]string{}
	}
	if t.of[namespace] == nil {
		t.of[namespace] = map[string]map[types.UID]string{}
	}
	there := map[types.UID]string{}
	for i := range waiting {
		if message, was := said[waiting[i].UID]; was {
			there[waiting[i].UID] = message
		}
	}
	t.of[namespace][reason] = there
}

// isNews reports whether this is not the last that the owner of a pod was told, and notes it. A message names the time until
// which providers are left out: another time is news.
func (t *told) isNews(namespace, reason string, pod types.UID, message string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, was := t.of[namespace][reason][pod]
	if was && before == message {
		return false
	}
	for other, pods := range t.of[namespace] {
		if other != reason {
			delete(pods, pod)
		}
	}
	if t.of[namespace][reason] != nil {
		t.of[namespace][reason][pod] = message
	}
	return true
}

// leaves forgets a pod that does not wait any more.
func (t *told) leaves(namespace string, pod types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pods := range t.of[namespace] {
		delete(pods, pod)
	}
}

// forget forgets a namespace that is no longer offloaded.
func (t *told) forget(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, namespace)
}

// saidIn returns the messages of the events of a namespace that have a reason, by the pods that they are about: of this
// manager or of an earlier one, as long as the API server keeps them. Of several about one pod it returns the last one: their
// names end with the time, and order the list.
func saidIn(ctx context.Context, live client.Reader, namespace, reason string) (map[types.UID]string, error) {
	var events corev1.EventList
	if err := live.List(ctx, &events, client.InNamespace(namespace), client.MatchingFields{"reason": reason}); err != nil {
		return nil, fmt.Errorf("listing the events of namespace %s: %w", namespace, err)
	}
	said := map[types.UID]string{}
	for i := range events.Items {
		said[events.Items[i].InvolvedObject.UID] = events.Items[i].Message
	}
	return said, nil
}
