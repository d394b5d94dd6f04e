package crash

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// standstill is the duration of a Lease in this test. It is longer than the test stops a manager on any
// machine. During one duration, each manager checks the Lease three times.
const standstill = "--provider-lease-duration=2m"

// TestTwoProcesses runs two managers for one consumer, without leader election. The second one reads in the
// provider, writes nothing there, and says which manager works there. The test checks this while it stops the
// first manager: all requests to the provider then come from the second.
func TestTwoProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for Leases; TestASecondManagerOnlyReads of internal/provider/fleet is quick")
	}
	t.Parallel() // It waits for Leases most of the time.
	r := rigUp(t, rig.Options{Name: "two", Providers: providers[:1], AuditPolicy: measure.AuditPolicy(measure.ManagerAccounts()...)})
	kubeconfig, provider := writeKubeconfig(t, r), r.Providers[0]
	must(t, r.Bind(t.Context()))
	first := start(t, kubeconfig, standstill)
	until(t, "the first manager to be connected", r.Bound)
	second := start(t, kubeconfig, standstill)
	until(t, "the second one to say who works there", func(context.Context) error { return second.says("HeldByAnother") })

	// Stopped for less than the duration of its Lease, so the second manager still waits.
	must(t, first.command.Process.Signal(syscall.SIGSTOP))
	held := leaseOf(t, provider)
	log := measure.NewAudit(provider.ID, provider.AuditLog())
	before, err := log.Figures()
	must(t, err)
	for _, object := range []client.Object{rig.Namespace(0), rig.Offloading(0)} {
		must(t, r.Consumer.Admin.Create(t.Context(), object))
	}
	leases := []requests.Filter{requests.Resource("leases"), requests.Not(requests.Writes)}
	during := before
	until(t, "the second one to look at the Lease again", func(context.Context) error {
		if during, err = log.Figures(); err != nil {
			return err
		}
		if n := during.Sum(leases...).Requests - before.Sum(leases...).Requests; n < 2 {
			return fmt.Errorf("it has looked %d times", n)
		}
		return nil
	})
	changes := []requests.Filter{requests.Writes, requests.Not(requests.Resource("selfsubjectreviews"))}
	written := during.Sum(changes...).Requests - before.Sum(changes...).Requests
	if now := leaseOf(t, provider); now.ResourceVersion != held.ResourceVersion {
		t.Error("the Lease has expired while the first manager stood still, or the second one has taken it before")
	}
	if written > 0 {
		t.Errorf("the second manager has written %d times: %+v", written, during.Rows(changes...))
	}
	must(t, first.command.Process.Signal(syscall.SIGCONT))
	until(t, "the first one to go on", func(ctx context.Context) error { return isOffloaded(ctx, r) })
}

// leaseOf returns the only Lease of a manager in a provider.
func leaseOf(t *testing.T, provider *rig.Cluster) *coordinationv1.Lease {
	t.Helper()
	var leases coordinationv1.LeaseList
	must(t, provider.Admin.List(t.Context(), &leases, client.InNamespace(v1alpha1.ProviderNamespace)))
	if len(leases.Items) != 1 {
		t.Fatalf("there are %d Leases", len(leases.Items))
	}
	return &leases.Items[0]
}
