package integration

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// openWatches counts the open watches by cluster and resource. In the consumer, it counts only one binding's
// view.
type openWatches struct {
	mu   sync.Mutex
	open map[string]int
}

// in returns the watches of a cluster, such as "2 pods".
func (w *openWatches) in(cluster string) func() []string {
	return func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		var all []string
		for key, n := range w.open {
			if of, resource, _ := strings.Cut(key, ": "); of == cluster && n > 0 {
				all = append(all, fmt.Sprint(n, " ", resource))
			}
		}
		return all
	}
}

func (w *openWatches) count(key string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[key] += n
}

// wrap counts the watches of a cluster whose label or field selector contains word.
func (w *openWatches) wrap(cluster, word string, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		query := r.URL.Query()
		if err != nil || !query.Has("watch") || response.StatusCode != http.StatusOK || !strings.Contains(query.Get("labelSelector")+query.Get("fieldSelector"), word) {
			return response, err
		}
		key := cluster + ": " + r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		w.count(key, 1)
		response.Body = counted{response.Body, sync.OnceFunc(func() { w.count(key, -1) })}
		return response, nil
	})
}

type counted struct {
	io.ReadCloser
	ended func()
}

func (c counted) Close() error {
	c.ended()
	return c.ReadCloser.Close()
}

var _ = Describe("An idle binding", Ordered, func() {
	var (
		t       team
		service *corev1.Service
		idle    = []string{"1 namespaces", "1 nodes", "2 pods", "1 configmaps", "1 events"} // Ours and other pods. The ConfigMap has the limits. Events are watched because of the remote namespace.
	)
	// counting starts another manager, and returns the watches of t's binding.
	counting := func() *openWatches {
		GinkgoHelper()
		watches := &openWatches{open: map[string]int{}}
		running = startManager(home, manager.Options{ConsumerID: homeID,
			WrapTransport: func(next http.RoundTripper) http.RoundTripper {
				return watches.wrap("consumer", t.cb.Spec.ClusterID, next)
			},
			Fleet: fleet.Options{WrapTransport: func(binding string, next http.RoundTripper) http.RoundTripper { return watches.wrap(binding, "", next) }},
		})
		return watches
	}

	BeforeAll(func() { t = newTeam() })

	It("has the watches of a provider that nothing can do without, and one of the consumer; each kind in use adds one to each", func() {
		running.stop()
		watches := counting()
		Eventually(watches.in(t.cb.Name)).Should(ConsistOf(idle))
		Eventually(watches.in("consumer")).Should(ConsistOf("1 pods"))

		By("sending a Service")
		service = &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("web")},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		home.make(service)
		Eventually(eu.fetching(in(t.remote, service))).Should(Succeed())
		Expect(watches.in(t.cb.Name)()).To(ConsistOf(append(idle, "1 services")))

		By("sending a Secret, which a pod needs")
		secret := newSecret(t.namespace, unique("secret"), "1")
		home.make(secret)
		t.running(withSecret(secret.GetName(), false))
		Expect(eu.value(in(t.remote, secret))()).To(Equal("1"))
		Expect(watches.in(t.cb.Name)()).To(ConsistOf(append(idle, "1 services", "1 secrets")))
		Expect(watches.in("consumer")()).To(ConsistOf("1 pods", "1 secrets"))
	})

	It("finds, after a restart, what is left in the provider and what is sent", func() {
		running.stop()
		Expect(home.Delete(ctx, service)).To(Succeed())
		watches := counting()
		Eventually(eu.fetching(in(t.remote, service))).Should(absent)
		Eventually(watches.in(t.cb.Name)).Should(ConsistOf(append(idle, "1 services", "1 secrets")))
		Eventually(watches.in("consumer")).Should(ConsistOf("1 pods", "1 secrets"))

		By("saying that the provider can grow, which its autoscaler is then heard about")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			most := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1k")}
			cb.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{Max: most}
		})
		Eventually(watches.in(t.cb.Name)).Should(ContainElement("4 events"))
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.VirtualNode.Elastic = nil })
		Eventually(watches.in(t.cb.Name)).Should(ConsistOf(append(idle, "1 services", "1 secrets")))
		Eventually(func() error {
			_, err := home.condition(t.cb, v1alpha1.BindingElastic)()
			return err
		}).Should(MatchError(ContainSubstring("there is no condition")))
	})

	AfterAll(func() { restart(fleet.Options{}) })
})
