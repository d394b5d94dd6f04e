package fleet

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

// inspector looks into the caches of what it is engaged with.
type inspector struct{ found chan error }

func (i *inspector) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	var err error
	for _, kind := range []client.Object{&corev1.Namespace{}, &corev1.Node{}} {
		informer, getErr := cl.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if getErr != nil {
			err = getErr
		} else if !informer.HasSynced() {
			err = fmt.Errorf("%s is engaged, and has not read %T", name, kind)
		}
	}
	i.found <- err
	return nil
}

// TestEngagedWithFullCaches runs on one processor, on which what starts the
// caches comes last.
func TestEngagedWithFullCaches(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f := New(Options{Origin: "consumer"})
	i := &inspector{found: make(chan error, 1)}
	go func() { _ = f.Start(t.Context(), i) }()
	for n := range 5 {
		f.Connect(target("eu", fmt.Sprint(n), providerUID))
		select {
		case err := <-i.found:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("waiting until the provider is engaged: the state is %+v", f.State("eu"))
		}
	}
}
