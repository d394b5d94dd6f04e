//go:build bench

package performance

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// TestNamespaces measures N offloadings to all providers, each N on new clusters. SIZES=20,40,80 measures
// other sizes than the default.
func TestNamespaces(t *testing.T) {
	var columns []column
	for _, n := range sizes(t) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			columns = append(columns, column{fmt.Sprintf("%d × %d", n, len(providers)), start(t, n).run(t)})
		})
	}
	show(t, "offloadings × providers", columns...)
}

func sizes(t *testing.T) []int {
	value := os.Getenv("SIZES")
	if value == "" {
		value = "250,500,1000"
	}
	var all []int
	for _, size := range strings.Split(value, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			t.Fatalf("SIZES=%s: %q is no size", value, size)
		}
		all = append(all, n)
	}
	return all
}

// bench measures one size. Its manager runs in this process.
type bench struct {
	*site
	n       int
	counter *requests.Counter
}

// start starts the clusters, and creates N namespaces with all that Kubernetes adds to them.
func start(t *testing.T, n int) *bench {
	b := &bench{upSite(t, rig.Options{Name: fmt.Sprintf("bench-%d", n), Providers: providers}), n, requests.NewCounter()}
	b.say("making %d namespaces", n)
	must(t, rig.CreateAll(t.Context(), b.Consumer.Admin, n, rig.Namespace))
	must(t, rig.Eventually(t.Context(), patience, b.accounts))
	must(t, b.Bind(t.Context()))
	return b
}

// accounts returns an error until every namespace has its ServiceAccount: the controller manager's work
// before that must not be measured.
func (b *bench) accounts(ctx context.Context) error {
	var list corev1.ServiceAccountList
	if err := b.Consumer.Watched.List(ctx, &list); err != nil {
		return err
	}
	if len(list.Items) < b.n {
		return fmt.Errorf("%d of %d ServiceAccounts exist", len(list.Items), b.n)
	}
	return nil
}

func (b *bench) run(t *testing.T) []figure {
	b.say("starting the manager")
	stop := b.manage(t)
	must(t, rig.Eventually(t.Context(), patience, b.Bound))
	must(t, rig.Eventually(t.Context(), patience, b.offloadings(0)))

	b.say("creating %d offloadings", b.n)
	figures := b.measure(t, func() {
		must(t, rig.CreateAll(t.Context(), b.Consumer.Admin, b.n, rig.Offloading))
		must(t, rig.Eventually(t.Context(), patience, b.offloadings(b.n)))
	}).offloading()
	b.remoteNamespaces(t, b.n)

	b.say("restarting the manager")
	before, err := b.Versions(t.Context())
	must(t, err)
	stop()
	restart := b.measure(t, func() { stop = b.manage(t) })
	after, err := b.Versions(t.Context())
	must(t, err)
	figures = append(figures, restart.restart(len(changed(t, before, after)))...)

	b.say("deleting %d offloadings", b.n)
	figures = append(figures, b.measure(t, func() {
		must(t, rig.DeleteAll(t.Context(), b.Consumer.Admin, b.n, rig.Offloading))
		must(t, rig.Eventually(t.Context(), patience, b.offloadings(0)))
	}).deleting()...)
	b.remoteNamespaces(t, 0)
	b.say("comparing with the audit logs")
	differ := differencesTo(t, b.audits, func(audited requests.Figures) []string { return differences(b.counter.Figures(), audited) })
	stop()
	return append(figures, count("differences to the audit logs", len(differ)).exactly(0))
}

// measure measures the time of do, and counts the manager's requests until it has settled: paced writes may
// still be due.
func (b *bench) measure(t *testing.T, do func()) phase {
	t.Helper()
	figures, began := b.counter.Figures(), time.Now()
	do()
	done := time.Now()
	must(t, b.Settled(t.Context(), done, patience))
	p := phase{b.n, len(b.Providers), b.counter.Figures().Since(figures), done.Sub(began), time.Since(began)}
	b.say("done after %.1f s:\n%s", p.wall.Seconds(), requestsOf(p.Figures, b.n))
	return p
}

// logged is how long an API server may take to log a request.
const logged = 30 * time.Second

// differencesTo returns the differences that remain when the audit logs are complete, and logs them.
func differencesTo(t *testing.T, audits []*measure.Audit, compare func(audited requests.Figures) []string) []string {
	t.Helper()
	var differ []string
	err := rig.Eventually(t.Context(), logged, func(context.Context) error {
		audited, err := figuresOf(audits)
		if err != nil {
			return err
		}
		if differ = compare(audited); len(differ) > 0 {
			return fmt.Errorf("%d differences to the audit logs", len(differ))
		}
		return nil
	})
	if len(differ) == 0 {
		must(t, err)
	}
	for _, difference := range differ {
		t.Log(difference)
	}
	return differ
}

// manage starts a manager, and returns a function that stops it.
func (b *bench) manage(t *testing.T) func() {
	m, err := b.StartManager(t.Context(), consumerID, b.counter)
	must(t, err)
	stop := func() {
		if err := m.Stop(); err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// offloadings returns a check that n offloadings exist, and that all are Ready.
func (b *bench) offloadings(n int) func(context.Context) error {
	return func(ctx context.Context) error {
		all, ready, err := offloadings(ctx, b.Rig)
		if err == nil && (all != n || ready != n) {
			err = fmt.Errorf("%d NamespaceOffloadings, %d of them Ready, want %d", all, ready, n)
		}
		return err
	}
}

// offloadings counts the NamespaceOffloadings, and those that are Ready.
func offloadings(ctx context.Context, r *rig.Rig) (all, ready int, err error) {
	var list v1alpha1.NamespaceOffloadingList
	if err := r.Consumer.Watched.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return 0, 0, err
	}
	for i := range list.Items {
		if list.Items[i].Status.OffloadingPhase == v1alpha1.OffloadingPhaseReady {
			ready++
		}
	}
	return len(list.Items), ready, nil
}

func (b *bench) remoteNamespaces(t *testing.T, want int) {
	for _, provider := range b.Providers {
		marked, err := b.Marked(t.Context(), provider)
		must(t, err)
		if len(marked) != want {
			t.Errorf("provider %s has %d namespaces of ours, want %d", provider.ID, len(marked), want)
		}
	}
}

// changed returns the objects whose version has changed, and logs them.
func changed(t *testing.T, before, after map[string]string) []string {
	var differ []string
	for object := range maps.Keys(before) {
		if before[object] != after[object] {
			differ = append(differ, object)
		}
	}
	for object := range maps.Keys(after) {
		if _, ok := before[object]; !ok {
			differ = append(differ, object)
		}
	}
	slices.Sort(differ)
	for _, object := range differ {
		t.Logf("changed by a restart: %s", object)
	}
	return differ
}
