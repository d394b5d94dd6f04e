//go:build bench

package performance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

var providers = []string{"p1", "p2", "p3"}

// patience bounds one phase, on a machine that may be busy with other things.
const patience = 15 * time.Minute

func TestMain(m *testing.M) {
	if arguments := os.Getenv(asFloor); arguments != "" {
		if err := runFloor(arguments); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	clusters.RequireBinaries()
	os.Exit(m.Run())
}

// TestNamespaces measures N offloadings to all providers, each N on new clusters. SIZES=20,40,80 measures
// other sizes than the default.
func TestNamespaces(t *testing.T) {
	logTo(t, "namespaces.log")
	report := Report{Date: time.Now().UTC().Format(time.DateOnly), Command: command()}
	for _, n := range sizes(t) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			b := start(t, n)
			result := b.run(t)
			report.Results = append(report.Results, result)
			report.Machine = docs.ThisMachine(b.version(t))
			for _, broken := range result.Broken() {
				t.Error(broken)
			}
			for _, object := range result.ChangedByRestart {
				t.Logf("changed by the restart: %s", object)
			}
		})
	}
	switch {
	case len(report.Results) != len(sizes(t)):
		t.Log("growth was NOT checked: a size is missing")
	case !report.grow():
		t.Logf("growth was NOT checked: it takes %d sizes to tell a line from a parabola", growthSizes)
	}
	for _, broken := range report.BrokenGrowth() {
		t.Error(broken)
	}
	publish(t, report)
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

func command() string {
	if size := os.Getenv("SIZES"); size != "" {
		return "SIZES=" + size + " make bench"
	}
	return "make bench"
}

// logTo sends the manager's log to a file, so that it does not mix with the figures.
func logTo(t *testing.T, name string) {
	file, err := os.Create(filepath.Join(outputDir(t), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctrl.SetLogger(logr.Discard())
		_ = file.Close()
	})
	ctrl.SetLogger(zap.New(zap.WriteTo(file)))
}

func outputDir(t *testing.T) string {
	root, err := clusters.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "bin", "bench")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	return dir
}

// bench measures one size.
type bench struct {
	*rig.Rig
	n       int
	began   time.Time
	counter *requests.Counter
	audits  []*measure.Audit // Of each cluster, in the order of All.
}

// start starts the clusters, and creates N namespaces with all that Kubernetes adds to them.
func start(t *testing.T, n int) *bench {
	b := &bench{n: n, began: time.Now(), counter: requests.NewCounter()}
	b.say("starting a consumer and %d providers", len(providers))
	var err error
	if b.Rig, err = rig.Up(t.Context(), rig.Options{
		Name: "bench", Providers: providers, AuditPolicy: measure.AuditPolicy(measure.ManagerAccounts()...),
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, c := range b.All() {
		b.audits = append(b.audits, measure.NewAudit(c.ID, c.AuditLog()))
	}
	b.say("making %d namespaces", n)
	must(t, rig.CreateAll(t.Context(), b.Consumer.Admin, n, rig.Namespace))
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error {
		return b.accounts(ctx)
	}))
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

func (b *bench) say(format string, args ...any) {
	fmt.Printf("N=%-5d %6.1fs  %s\n", b.n, time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

func (b *bench) version(t *testing.T) string {
	discover, err := discovery.NewDiscoveryClientForConfig(b.Consumer.Config())
	must(t, err)
	version, err := discover.ServerVersion()
	must(t, err)
	return version.GitVersion
}

func (b *bench) run(t *testing.T) Result {
	result := Result{N: b.n, Providers: len(b.Providers)}
	b.say("starting the manager")
	stop := b.manager(t)
	must(t, rig.Eventually(t.Context(), patience, b.Bound))
	must(t, rig.Eventually(t.Context(), patience, b.offloadings(0, nil)))

	b.say("creating %d offloadings", b.n)
	result.Offload = b.measure(t, func() {
		must(t, rig.CreateAll(t.Context(), b.Consumer.Admin, b.n, rig.Offloading))
		must(t, rig.Eventually(t.Context(), patience, b.offloadings(b.n, ready)))
	})
	b.say("all Ready: %s", result.Offload.summary())
	b.remoteNamespaces(t, b.n)

	b.say("restarting the manager")
	before := b.versions(t)
	stop()
	result.Restart = b.measure(t, func() { stop = b.manager(t) })
	result.ChangedByRestart = changed(before, b.versions(t))
	b.say("connected and settled: %s", result.Restart.summary())

	b.say("deleting %d offloadings", b.n)
	result.Delete = b.measure(t, func() {
		must(t, rig.DeleteAll(t.Context(), b.Consumer.Admin, b.n, rig.Offloading))
		must(t, rig.Eventually(t.Context(), patience, b.offloadings(0, nil)))
	})
	b.say("all gone: %s", result.Delete.summary())
	b.remoteNamespaces(t, 0)
	result.Differences = b.differences(t)
	b.say("%d differences to the audit logs", len(result.Differences))
	stop()
	return result
}

// measure measures the time of do, and counts the manager's requests until it has settled: paced writes may
// still be due.
func (b *bench) measure(t *testing.T, do func()) Phase {
	t.Helper()
	figures, began, cpu := b.counter.Figures(), time.Now(), cpuTime()
	do()
	done, used := time.Now(), cpuTime()-cpu
	must(t, b.Settled(t.Context(), done, patience))
	return phaseOf(b.counter.Figures().Since(figures), done.Sub(began), time.Since(began), used)
}

// logged is how long an API server may take to log a request.
const logged = 30 * time.Second

// differences compares what the transports of both managers have counted with the audit logs.
func (b *bench) differences(t *testing.T) []string {
	return differencesTo(t, b.audits, func(audited requests.Figures) []string { return differences(b.counter.Figures(), audited) })
}

// differencesTo returns the differences that remain when the audit logs are complete.
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
	return differ
}

// manager starts a manager, and returns a function that stops it.
func (b *bench) manager(t *testing.T) func() {
	m, err := b.StartManager(t.Context(), "bench", b.counter)
	must(t, err)
	stop := func() {
		if err := m.Stop(); err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func ready(nso *v1alpha1.NamespaceOffloading) bool {
	return nso.Status.OffloadingPhase == v1alpha1.OffloadingPhaseReady
}

// offloadings returns a check that n offloadings exist and that as returns true for all of them.
func (b *bench) offloadings(n int, as func(*v1alpha1.NamespaceOffloading) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		var list v1alpha1.NamespaceOffloadingList
		if err := b.Consumer.Watched.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		count := len(list.Items)
		if as != nil {
			count = len(slices.DeleteFunc(slices.Clone(list.Items), func(nso v1alpha1.NamespaceOffloading) bool { return !as(&nso) }))
		}
		if count != n {
			return fmt.Errorf("%d NamespaceOffloadings, want %d", count, n)
		}
		return nil
	}
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

func (b *bench) versions(t *testing.T) map[string]string {
	versions, err := b.Versions(t.Context())
	must(t, err)
	return versions
}

func changed(before, after map[string]string) []string {
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
	return differ
}

// publish prints the report, and writes it to its file.
func publish(t *testing.T, r Report) {
	fmt.Println()
	fmt.Println(r.Markdown())
	fmt.Println(r.details())
	must(t, writeJSON(filepath.Join(outputDir(t), "namespaces.json"), r))
	renewDocs(t, "namespaces", r.Markdown())
}

// renewDocs writes a part into docs/benchmarks.md, if UPDATE_DOCS=1 is set.
func renewDocs(t *testing.T, part, text string) {
	if os.Getenv("UPDATE_DOCS") != "1" {
		return
	}
	if t.Failed() {
		t.Log("docs/benchmarks.md is left as it is, because a bound was broken")
		return
	}
	root, err := clusters.Root()
	must(t, err)
	must(t, docs.Update(filepath.Join(root, "docs", "benchmarks.md"), part, "make bench", text))
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
