//go:build upgrade

package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

const (
	consumerName = "upgrade"
	// patience is for a machine that is busy with other things.
	patience = 10 * time.Minute
	// quietFor is longer than any write that is due is held back.
	quietFor = 10 * time.Second
	// nodes is how many each provider has.
	nodes = 2
)

// site is a consumer and two providers, in which the older manifests are installed.
type site struct {
	*rig.Rig
	root, from string // The top of this checkout, and of the older one.
	began      time.Time
	manager    *measure.Manager
	audits     []*measure.Audit
	witnesses  []*witness
	count      int // How many pods there are.
	// limited tells that the providers have their limits. An older provider.yaml has
	// none, and then a new manager sends no new pod: docs/operations.md#upgrade.
	limited bool
}

func up(t *testing.T) *site {
	s := &site{began: time.Now()}
	var err error
	s.say("starting a consumer and two providers")
	s.root, err = clusters.Root()
	must(t, err)
	s.from = filepath.Join(s.root, "bin", "upgrade", "from")
	s.Rig, err = rig.Up(t.Context(), rig.Options{
		Name: "upgrade", Providers: []string{"eu", "us"}, Nodes: nodes, Checkout: s.from,
		AuditPolicy: measure.AuditPolicy(measure.ManagerAccounts()...),
	})
	must(t, err)
	t.Cleanup(func() { must(t, s.Down(context.Background())) })
	for _, c := range s.All() {
		s.audits = append(s.audits, measure.NewAudit(c.ID, c.AuditLog()))
		w, err := watch(t.Context(), c, mine)
		must(t, err)
		s.witnesses = append(s.witnesses, w)
		s.apply(t, c, s.from) // As users install it: what is new later is held against this.
	}
	must(t, s.Bind(t.Context()))
	for _, provider := range s.Providers {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"mountNamespace":"`+mountNamespace+`"}}`))
		must(t, s.Consumer.Admin.Patch(t.Context(), &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: provider.ID}}, patch))
	}
	return s
}

// apply does what kubectl apply does with the manifests of a checkout; "" is this one.
func (s *site) apply(t *testing.T, c *rig.Cluster, checkout string) {
	directory := "config/provider"
	if c == s.Consumer {
		directory = "config/default"
	}
	objects, err := rig.Shipped(t.Context(), checkout, directory)
	must(t, err)
	var all bytes.Buffer
	for _, object := range objects {
		must(t, json.NewEncoder(&all).Encode(object))
	}
	command := exec.CommandContext(t.Context(), filepath.Join(s.root, "bin", "kube", "kubectl"), "--kubeconfig", c.Kubeconfig, "apply", "-f", "-")
	command.Stdin = &all
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("applying %s in cluster %s: %v\n%s", directory, c.ID, err, out)
	}
}

// start starts the manager of a checkout, and waits until it is at rest.
func (s *site) start(t *testing.T, checkout string) {
	kubeconfig, err := s.ManagerKubeconfig(t.Context())
	must(t, err)
	at := time.Now()
	s.manager, err = measure.Start(t.Context(), measure.Options{
		Binary: filepath.Join(checkout, "bin", "manager"), Kubeconfig: kubeconfig, ConsumerID: consumerName,
		Log: filepath.Join(s.root, "bin", "upgrade", "manager.log"),
	})
	must(t, err)
	s.say("%s runs", filepath.Join(checkout, "bin", "manager"))
	running := s.manager
	t.Cleanup(func() { must(t, running.Stop()) })
	must(t, s.Settled(t.Context(), at, patience))
	must(t, rig.Eventually(t.Context(), patience, s.ready))
	s.quiet(t)
}

// ready says which binding, or its mount namespace, is not.
func (s *site) ready(ctx context.Context) error {
	var list v1alpha1.ClusterBindingList
	if err := s.Consumer.Watched.List(ctx, &list); err != nil {
		return err
	}
	var errs []error
	for _, binding := range list.Items {
		for _, condition := range []string{v1alpha1.BindingReady, v1alpha1.BindingMountNamespaceReady} {
			is := meta.FindStatusCondition(binding.Status.Conditions, condition)
			if is != nil && is.Reason == v1alpha1.ReasonLimitsMissing && !s.limited {
				continue
			}
			if !meta.IsStatusConditionTrue(binding.Status.Conditions, condition) {
				errs = append(errs, fmt.Errorf("%s of the binding %s is not true: %+v", condition, binding.Name, binding.Status.Conditions))
			}
		}
	}
	if len(list.Items) != len(s.Providers) {
		errs = append(errs, fmt.Errorf("there are %d bindings, not %d", len(list.Items), len(s.Providers)))
	}
	return errors.Join(errs...)
}

// quiet waits until the manager has nothing to do.
func (s *site) quiet(t *testing.T) {
	must(t, rig.Eventually(t.Context(), patience, func(context.Context) error {
		for _, audit := range s.audits {
			last, err := audit.Last(requests.OnlyWork, requests.Writes)
			if err != nil {
				return err
			}
			if since := time.Since(last); since < quietFor {
				return fmt.Errorf("the manager has written %s ago", since.Round(time.Second))
			}
		}
		return nil
	}))
}

// figures are all requests of the managers so far.
func (s *site) figures(t *testing.T) requests.Figures {
	sum := requests.Figures{Counts: map[requests.Key]requests.Count{}, Writes: map[requests.Object]int{}}
	for _, audit := range s.audits {
		f, err := audit.Figures()
		must(t, err)
		for key, count := range f.Counts { // Each is of one cluster.
			sum.Counts[key] = count
		}
		for object, n := range f.Writes {
			sum.Writes[object] = n
		}
	}
	return sum
}

// pods are those of a cluster that this test is about.
func (s *site) pods(ctx context.Context, t *testing.T, c *rig.Cluster) []corev1.Pod {
	var list corev1.PodList
	must(t, c.Admin.List(ctx, &list))
	var found []corev1.Pod
	for i := range list.Items {
		if mine(&list.Items[i]) {
			found = append(found, list.Items[i])
		}
	}
	return found
}

func (s *site) say(format string, args ...any) {
	fmt.Printf("upgrade  %6.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
