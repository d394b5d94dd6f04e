package floor

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// seen is a pod as a watch shows it, on a node, perhaps during its deletion.
func seen(node string, phase corev1.PodPhase, deleted bool) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "floor", Name: "web"}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
	if deleted {
		pod.DeletionTimestamp = &metav1.Time{}
	}
	return pod
}

func verbs(clients *fake.Clientset) []string {
	var all []string
	for _, action := range clients.Actions() {
		all = append(all, action.GetVerb()+" "+action.GetSubresource())
	}
	return all
}

// TestTheLifeOfAPod: repeated events lead to one write, and the status to two writes.
func TestTheLifeOfAPod(t *testing.T) {
	consumer, provider := fake.NewClientset(seen("node", "", false)), fake.NewClientset()
	ctx, fail := context.WithCancelCause(t.Context())
	defer fail(nil)
	f := &Floor{
		Consumer: consumer, Providers: []kubernetes.Interface{provider}, Namespace: "floor", Nodes: map[string]int{"node": 0},
		fail: fail, sent: map[string]bool{},
	}
	out := f.newQueues(ctx)
	settle := func() {
		done := make(chan struct{})
		out.hand(ctx, "web", func() error { close(done); return nil }) // By the same writer as the other jobs.
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	for _, local := range []*corev1.Pod{
		seen("", "", false), seen("another", "", false), seen("node", "", false), seen("node", "", false), seen("node", "", true), seen("node", "", true),
	} {
		f.follow(ctx, []queues{out}, watch.Modified, local)
	}
	f.follow(ctx, []queues{out}, watch.Deleted, seen("node", "", true))
	settle()
	if diff := cmp.Diff([]string{"create ", "delete "}, verbs(provider)); diff != "" {
		t.Errorf("requests to the provider (-want +got):\n%s", diff)
	}
	for _, remote := range []*corev1.Pod{
		seen("", corev1.PodPending, false), seen("remote", corev1.PodPending, false), seen("remote", corev1.PodRunning, false),
		seen("remote", corev1.PodRunning, true), seen("remote", corev1.PodSucceeded, true), seen("remote", corev1.PodSucceeded, true),
	} {
		if err := f.mirror(ctx, watch.Modified, remote); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.mirror(ctx, watch.Deleted, seen("remote", corev1.PodSucceeded, true)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"patch status", "patch status", "delete "}, verbs(consumer)); diff != "" {
		t.Errorf("requests to the consumer (-want +got):\n%s", diff)
	}
	refused := errors.New("refused")
	provider.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	clear(f.sent)
	f.follow(ctx, []queues{out}, watch.Added, seen("node", "", false))
	settle()
	if err := context.Cause(ctx); !errors.Is(err, refused) {
		t.Errorf("a pod that the provider refuses ends it with %v", err)
	}
}
