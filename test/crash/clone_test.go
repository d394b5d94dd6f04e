package crash

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// TestClone restores a backup of the consumer in another cluster, and starts a manager there. The manager
// knows all that the original knew, and nothing that has changed since. It writes nothing in the provider,
// neither while the original runs nor after the original has ended. If it wrote there, it would delete
// everything that is newer than the backup.
func TestClone(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts clusters")
	}
	t.Parallel()                                 // It waits for Leases most of the time.
	const lease = "--provider-lease-duration=3s" // Because the copy waits until it has expired.
	r := rigUp(t, rig.Options{Name: "cloned", Providers: providers[:1], AuditPolicy: measure.AuditPolicy(measure.ManagerAccounts()...)})
	kubeconfig, provider := writeKubeconfig(t, r), r.Providers[0]
	if err := r.Bind(t.Context()); err != nil {
		t.Fatal(err)
	}
	original := start(t, kubeconfig, lease)
	offload(t, r, 0)
	original.kill(t)
	clone := cloneOf(t, r)

	before := leaseOf(t, provider)
	original = start(t, kubeconfig, lease)
	until(t, "the original to have the Lease again", func(ctx context.Context) error { return isRaised(ctx, provider, before.Annotations) })
	offload(t, r, 1) // The clone does not know of it.
	copied := start(t, writeKubeconfig(t, clone), lease)
	until(t, "the clone to say who works there", func(context.Context) error { return copied.says("HeldByAnother") })

	original.kill(t) // From now on, all requests to the provider come from the clone.
	log := measure.NewAudit(provider.ID, provider.AuditLog())
	begin, err := log.Figures()
	if err != nil {
		t.Fatal(err)
	}
	held, namespaces := leaseOf(t, provider), marked(t, r)
	until(t, "the clone to say that somebody has to decide", func(context.Context) error { return copied.says("TakeOverNeeded") })
	end, err := log.Figures()
	if err != nil {
		t.Fatal(err)
	}
	// The original may have been renewing its Lease when it was killed.
	writes := []requests.Filter{requests.Writes, requests.Not(requests.Resource("selfsubjectreviews")), requests.Not(requests.Resource("leases"))}
	if n := end.Sum(writes...).Requests - begin.Sum(writes...).Requests; n > 0 {
		t.Errorf("the clone has written %d times: %+v", n, end.Rows(writes...))
	}
	if diff := cmp.Diff(held.Annotations, leaseOf(t, provider).Annotations); diff != "" {
		t.Errorf("the clone has taken the Lease (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(namespaces, marked(t, r)); diff != "" || len(namespaces) != 2 {
		t.Errorf("of the %d remote namespaces, the clone has changed some (-before +after):\n%s", len(namespaces), diff)
	}
	start(t, kubeconfig, lease)
	offload(t, r, 2) // The original goes on.
}

// cloneOf starts a consumer from the content of another consumer's etcd.
func cloneOf(t *testing.T, r *rig.Rig) *rig.Rig {
	t.Helper()
	cluster, err := clusters.Up(t.Context(), clusters.Options{Name: "cloned-copy", Timeout: rig.UpTimeout})
	if err != nil {
		t.Fatal(err)
	}
	clone := &rig.Rig{Consumer: &rig.Cluster{Cluster: cluster, ID: r.Consumer.ID}}
	t.Cleanup(func() {
		if err := clone.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(r.Consumer.Backup(t.Context()), cluster.RestoreFrom(t.Context(), r.Consumer.Cluster)); err != nil {
		t.Fatal(err)
	}
	return clone
}

// offload offloads the i-th namespace.
func offload(t *testing.T, r *rig.Rig, i int) {
	t.Helper()
	for _, object := range []client.Object{rig.Namespace(i), rig.Offloading(i)} {
		if err := r.Consumer.Admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the namespace to be offloaded", func(ctx context.Context) error { return isOffloaded(ctx, r, i) })
}

func isOffloaded(ctx context.Context, r *rig.Rig, i int) error {
	var offloading v1alpha1.NamespaceOffloading
	if err := r.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(rig.Offloading(i)), &offloading); err != nil {
		return err
	}
	if phase := offloading.Status.OffloadingPhase; phase != v1alpha1.OffloadingPhaseReady {
		return fmt.Errorf("the offloading is %q", phase)
	}
	return nil
}

// isRaised returns an error unless the Lease has another generation than before.
func isRaised(ctx context.Context, provider *rig.Cluster, before map[string]string) error {
	lease, err := findLease(ctx, provider)
	if err == nil && lease.Annotations[v1alpha1.AnnotationGeneration] == before[v1alpha1.AnnotationGeneration] {
		err = errors.New("the Lease is of the same generation")
	}
	return err
}

// marked returns the resourceVersions of the remote namespaces in the first provider, by name.
func marked(t *testing.T, r *rig.Rig) map[string]string {
	t.Helper()
	namespaces, err := r.Marked(t.Context(), r.Providers[0])
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, namespace := range namespaces {
		versions[namespace.Name] = namespace.ResourceVersion
	}
	return versions
}
