//go:build bench

package performance

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// quietFor is how long a manager must send no request of its own to count as done. It is longer than the
// manager delays any write of pods, maps and bindings. Writes with a longer delay (the progress of an
// offloading, repeated refusals) are not due any more: all offloadings are Ready, and nothing is refused.
const quietFor = 10 * time.Second

// shared is how many ConfigMaps the pods of a namespace share. Each pod refers to one.
const shared = 10

// site has a consumer, providers whose nodes run pods, and a manager in its own process.
type site struct {
	*rig.Rig
	name    string
	began   time.Time
	manager *measure.Manager
	audits  []*measure.Audit // Of each cluster, in the order of All.
	pods    int              // The number of offloaded pods.
	kubelet bool             // The manager serves the kubelet API.
}

// startSite starts the clusters, each provider with so many nodes, and binds the providers. No manager runs
// yet.
func startSite(t *testing.T, name string, nodes int, ids []string) *site {
	s := upSite(t, rig.Options{Name: name, Providers: ids, Nodes: nodes})
	must(t, s.Bind(t.Context()))
	return s
}

// upSite starts the clusters. The audit logs have the requests of the manager, and of other accounts.
func upSite(t *testing.T, o rig.Options, accounts ...string) *site {
	logTo(t, o.Name+".log") // For the logs of client-go and the rig's caches.
	s := &site{name: o.Name, began: time.Now()}
	s.say("starting a consumer and %d providers", len(o.Providers))
	o.AuditPolicy = measure.AuditPolicy(append(measure.ManagerAccounts(), accounts...)...)
	var err error
	s.Rig, err = rig.Up(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Down(context.Background())) })
	for _, c := range s.All() {
		s.audits = append(s.audits, measure.NewAudit(c.ID, c.AuditLog()))
	}
	return s
}

// consumerID is the --cluster-id of the managers.
const consumerID = "bench"

func (s *site) say(format string, args ...any) {
	say(s.name, s.began, format, args...)
}

// start starts the manager, and returns the time of the start.
func (s *site) start(t *testing.T) time.Time {
	kubeconfig, err := s.ManagerKubeconfig(t.Context())
	must(t, err)
	at := time.Now()
	s.manager, err = measure.Start(t.Context(), measure.Options{
		Kubeconfig: kubeconfig, ConsumerID: consumerID, Log: filepath.Join(outputDir(t), s.name+"-manager.log"), Kubelet: s.kubelet,
	})
	must(t, err)
	t.Cleanup(func() { s.stop(t) })
	return at
}

// stop stops the manager, if it runs.
func (s *site) stop(t *testing.T) {
	if err := s.manager.Stop(); err != nil {
		t.Error(err)
	}
}

// offload offloads the namespaces from number from to number to-1, with the ConfigMaps that the pods of each
// share.
func (s *site) offload(t *testing.T, from, to int) {
	s.say("offloading the namespaces %d to %d", from, to-1)
	numbered := func(object func(int) client.Object) func(int) client.Object {
		return func(i int) client.Object { return object(from + i) }
	}
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, to-from, numbered(rig.Namespace)))
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, to-from, numbered(rig.Offloading)))
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, (to-from)*shared, func(i int) client.Object {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(from + i/shared).GetName(), Name: settings(i)},
			Data:       map[string]string{"number": strconv.Itoa(i)},
		}
	}))
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error { return s.offloaded(ctx, to) }))
}

func settings(i int) string { return fmt.Sprintf("settings-%d", i%shared) }

// offloaded returns an error until n offloadings are Ready and their namespaces have what pods need.
func (s *site) offloaded(ctx context.Context, n int) error {
	if _, there, err := offloadings(ctx, s.Rig); err != nil || there != n {
		return errors.Join(fmt.Errorf("%d NamespaceOffloadings are Ready, want %d", there, n), err)
	}
	for i := range n { // Without its ServiceAccount, a namespace admits no pod.
		key := client.ObjectKey{Namespace: rig.Namespace(i).GetName(), Name: "default"}
		if err := s.Consumer.Watched.Get(ctx, key, &corev1.ServiceAccount{}); err != nil {
			return err
		}
	}
	return nil
}

// run creates n more pods on the virtual nodes, in turn, in the namespaces from number from to number to-1.
// It waits until all run.
func (s *site) run(t *testing.T, n, from, to int) {
	first := s.pods
	s.pods += n
	s.say("running %d more pods", n)
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, n, func(i int) client.Object {
		return offloadedPod(rig.Namespace(from+i%(to-from)).GetName(), s.Providers[i%len(s.Providers)].ID, first+i)
	}))
	must(t, rig.Eventually(t.Context(), patience, s.running))
	s.say("%d pods run", s.pods)
}

func offloadedPod(namespace, provider string, i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("web-%05d", i), Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeName: v1alpha1.VirtualNodePrefix + provider,
			Containers: []corev1.Container{{
				Name: "web", Image: "web:1",
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: settings(i)},
				}}},
			}},
		},
	}
}

// running returns an error until the consumer shows all offloaded pods as Running.
func (s *site) running(ctx context.Context) error {
	var list corev1.PodList
	if err := s.Consumer.Watched.List(ctx, &list, client.UnsafeDisableDeepCopy, client.MatchingLabels{"app": "web"}); err != nil {
		return err
	}
	running := 0
	for i := range list.Items {
		if list.Items[i].Status.Phase == corev1.PodRunning {
			running++
		}
	}
	if running != s.pods {
		return fmt.Errorf("%d of %d pods run", running, s.pods)
	}
	return nil
}

// figures returns the manager's requests so far, in all clusters.
func (s *site) figures(t *testing.T) requests.Figures {
	figures, err := figuresOf(s.audits)
	must(t, err)
	return figures
}

// last returns when the manager last sent a request that passes the filter.
func (s *site) last(t *testing.T, filter requests.Filter) time.Time {
	var last time.Time
	for _, audit := range s.audits {
		at, err := audit.Last(filter)
		must(t, err)
		if at.After(last) {
			last = at
		}
	}
	return last
}

// lastWork returns when the manager last sent a request that is not periodic.
func (s *site) lastWork(t *testing.T) time.Time {
	return s.last(t, func(k requests.Key) bool { return classOf(k) == others })
}

// settle waits until a manager that was started at since is connected, and has been quiet for a while.
func (s *site) settle(t *testing.T, since time.Time) {
	must(t, s.Settled(t.Context(), since, patience))
	must(t, rig.Eventually(t.Context(), patience, func(context.Context) error {
		if last := s.lastWork(t); time.Since(last) < quietFor {
			return fmt.Errorf("the manager was at work %s ago", time.Since(last).Round(time.Second))
		}
		return nil
	}))
}

// watches returns the manager's open watches, by "cluster: resource".
func (s *site) watches(t *testing.T) map[string]int {
	all := map[string]int{}
	for i, c := range s.All() {
		open, err := s.audits[i].OpenWatches()
		must(t, err)
		for resource, n := range open {
			all[c.ID+": "+resource] = n
		}
	}
	return all
}

// connections returns the manager's open connections, by cluster.
func (s *site) connections(t *testing.T) map[string]int {
	byPort, err := s.manager.Connections()
	must(t, err)
	all := map[string]int{}
	for _, c := range s.All() {
		host, err := url.Parse(c.Config().Host)
		must(t, err)
		port, err := strconv.Atoi(host.Port())
		must(t, err)
		all[c.ID] = byPort[port]
	}
	return all
}

// usage returns the manager's usage and its heap.
func (s *site) usage(t *testing.T) (measure.Usage, int64) {
	usage, err := s.manager.Usage()
	must(t, err)
	heap, err := s.manager.HeapAfterGC(t.Context())
	must(t, err)
	return usage, heap
}
