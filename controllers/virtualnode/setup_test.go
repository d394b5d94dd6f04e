package virtualnode

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/rights"
)

// watchable is a cluster with a cache.
type watchable struct {
	cluster.Cluster
	cache informertest.FakeInformers
}

func (w *watchable) GetCache() crcache.Cache { return &w.cache }

// TestNodesReadableAgain: the cache has the nodes before the right to read them counts, so the binding is enqueued again then.
func TestNodesReadableAgain(t *testing.T) {
	of, calls := &watchable{}, 0
	provider := &fleet.Provider{Cluster: of, Rights: rights.New(clock.RealClock{}, nil), Limits: &fleet.Limits{}}
	r := &Reconciler{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := r.watchOffer(ctx, provider, func() { calls++ }); err != nil {
		t.Fatal(err)
	}
	nodes, err := of.cache.FakeInformerFor(ctx, &corev1.Node{})
	if err != nil {
		t.Fatal(err)
	}
	readable := func() bool { return provider.Rights.WhyUnreadable("nodes").Reason == "" }
	for _, step := range []struct {
		what string
		do   func()
		want int
	}{
		{"they are refused", func() {
			provider.Rights.Note("nodes", "watch", apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil))
		}, 0},
		{"that counts", provider.Rights.Settle, 1},
		{"they can be read, and there is one", func() { nodes.Add(&corev1.Node{}); provider.Rights.Note("nodes", "watch", nil) }, 2},
	} {
		if step.do(); calls != step.want {
			t.Errorf("%s: enqueued %d times, want %d", step.what, calls, step.want)
		}
	}
	if readable() {
		t.Fatal("the right counts at once, so nothing is shown here")
	}
	if provider.Rights.Settle(); !readable() || calls != 3 {
		t.Errorf("that counts: enqueued %d times, want 3", calls)
	}
}
