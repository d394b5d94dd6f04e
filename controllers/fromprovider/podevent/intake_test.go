package podevent

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/syncer"
)

// provider is a cache with these namespaces, and no pods.
type provider struct {
	cache.Cache
	namespaces map[string]*corev1.Namespace
}

func (p *provider) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	namespace, there := p.namespaces[key.Name]
	if to, ok := obj.(*corev1.Namespace); ok && there {
		namespace.DeepCopyInto(to)
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// TestEarlyWarnings sends warnings before the watch has shown the namespace that they
// are about.
func TestEarlyWarnings(t *testing.T) {
	mark := provenance.Mark{Origin: "origin", ClusterID: "eu"}
	remote := &provider{namespaces: map[string]*corev1.Namespace{}}
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var queue []decide.Key
	enqueue := func(keys ...decide.Key) { queue = append(queue, keys...) }
	to := &intake{&reconciler{
		Connection: syncer.Connection{Mark: mark, Enqueue: enqueue}, remote: remote, clock: clock,
		shelf: podevent.NewShelf(podevent.MostKept), early: podevent.NewShelf(podevent.MostEarly),
	}}
	for _, namespace := range []string{"ours", "theirs"} {
		to.take(t.Context(), warningAbout(namespace))
	}
	if shown := to.shelf.Targets(); len(shown) > 0 || len(queue) > 0 {
		t.Fatalf("there is no namespace, and %v is looked at", shown)
	}
	for name, labels := range map[string]map[string]string{"theirs": {}, "ours": mark.Labels()} {
		remote.namespaces[name] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	to.arrived(t.Context(), "ours")
	want := []podevent.Target{targetOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ours", Name: "pod", UID: "pod-of-ours"}})}
	if diff := cmp.Diff(want, to.shelf.Targets()); diff != "" || len(queue) != 1 {
		t.Errorf("%v are looked at, kept (-want +got)\n%s", queue, diff)
	}
	// What is deleted in the meantime is not kept.
	if err := to.Delete(warningAbout("theirs")); err != nil {
		t.Fatal(err)
	}
	if left := to.early.Targets(); len(left) > 0 {
		t.Errorf("of what is gone there is left %v", left)
	}
}

func warningAbout(namespace string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "pod.1", UID: types.UID("event-in-" + namespace)},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "pod", UID: types.UID("pod-of-" + namespace)},
		Type:           corev1.EventTypeWarning, Reason: "Failed",
	}
}
