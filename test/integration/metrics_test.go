package integration

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/manager"
)

// listed is the list of metrics that dashboards and alerts may use, with their labels.
var listed = filepath.Join("..", "..", "hack", "observe", "testdata", "metrics.txt")

// gathered is a registry of one manager, together with what the process has registered already.
type gathered struct {
	prometheus.Registerer
	prometheus.Gatherers
}

// scraper is a ServiceAccount of home.
type scraper struct{ account *corev1.ServiceAccount }

func newScraper(namespace string) scraper {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: unique("scraper")}}
	home.create(account)
	return scraper{account}
}

// mayScrape gives the account the right that the chart gives to Prometheus.
func (s scraper) mayScrape() {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.account.Name}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	home.create(role)
	home.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.account.Namespace, Name: s.account.Name}},
	})
}

func (s scraper) token() string {
	GinkgoHelper()
	token := &authenticationv1.TokenRequest{}
	Expect(home.SubResource("token").Create(ctx, s.account, token)).To(Succeed())
	return token.Status.Token
}

// scrape gets the metrics, and returns the status and the body.
func scrape(port int, token string) (int, string, error) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // The certificate is self-signed.
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", port), http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// signature returns a metric as the list writes it: spillway_pods{cluster,phase} gauge.
func signature(family *dto.MetricFamily) string {
	var labels []string
	for _, pair := range family.GetMetric()[0].GetLabel() {
		labels = append(labels, pair.GetName())
	}
	slices.Sort(labels)
	return fmt.Sprintf("%s{%s} %s", family.GetName(), strings.Join(labels, ","), strings.ToLower(family.GetType().String()))
}

// families gets the metrics by their names.
func families(g Gomega, port int, token string) map[string]*dto.MetricFamily {
	GinkgoHelper()
	status, body, err := scrape(port, token)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status).To(Equal(http.StatusOK))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	return found
}

var _ = Describe("Metrics that are secured", Ordered, slow, func() {
	var (
		port  = freePort()
		t     team
		local *corev1.Pod
	)

	BeforeAll(func() {
		before, own := metrics.Registry, prometheus.NewRegistry()
		metrics.Registry = gathered{own, prometheus.Gatherers{before, own}}
		served := kubelets{kubelet.Options{Address: "127.0.0.1", Port: freePort()}, eu.newKubelet()}
		options := manager.Options{ConsumerID: homeID, Kubelet: served.Options}
		options.Manager.Metrics, options.Manager.LeaderElection = manager.Metrics(fmt.Sprintf("127.0.0.1:%d", port), true), true
		running.stop()
		running = startManager(home, options)
		DeferCleanup(func() {
			running.stop()
			metrics.Registry = before
			running = startManager(home, manager.Options{ConsumerID: homeID})
		})
		t = newTeamWith(eu.kubeconfigFor(providerNamespace, providerAccount, 48*time.Hour)) // The expiry of shorter ones is no metric.
		local, _ = served.runs(t)
	})

	It("are for those who may get them", func() {
		someone := newScraper(t.namespace)
		status := func(token string) func() (int, error) {
			return func() (int, error) {
				status, _, err := scrape(port, token)
				return status, err
			}
		}
		Eventually(status("")).Should(Equal(http.StatusUnauthorized))
		Expect(status("not-a-token")()).NotTo(Equal(http.StatusOK)) // controller-runtime answers 500.
		Expect(status(someone.token())()).To(Equal(http.StatusForbidden))
		allowed := newScraper(t.namespace)
		allowed.mayScrape()
		Eventually(status(allowed.token())).Should(Equal(http.StatusOK))
	})

	It("are those that dashboards and alerts use, with their labels", func() {
		Expect(home.kubectl("", "logs", "-n", local.Namespace, local.Name)).To(Equal("first line of app\n"))
		// The time of the creation counts from the scheduling.
		waiting := t.run(func(pod *corev1.Pod) { pod.Spec.NodeName = "" })
		home.scheduleTo(waiting, t.cb.VirtualNodeName())
		eu.remotePod(t.cb, waiting)
		name := unique("pod")
		eu.create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "foreign", Image: "example.com/app:1"}}},
		})
		refused := t.run(podNamed(name))
		t.staysHome(refused, v1alpha1.ReasonNameConflict)
		_, err := home.kubectl("", "logs", "-n", refused.Namespace, refused.Name)
		Expect(err).To(HaveOccurred())
		text, err := os.ReadFile(listed)
		Expect(err).NotTo(HaveOccurred())
		want := regexp.MustCompile(`(?m)^[a-z].*$`).FindAllString(string(text), -1)
		Expect(want).NotTo(BeEmpty())
		allowed := newScraper(t.namespace)
		allowed.mayScrape()
		token := allowed.token()
		Eventually(func(g Gomega) {
			var there []string
			for _, family := range families(g, port, token) {
				there = append(there, signature(family))
			}
			g.Expect(there).To(ContainElements(want))
		}).Should(Succeed())
	})

	It("add up to what the pods request that run in the provider", func() {
		own := newTeamWith(eu.providerKubeconfig(), allowing("", "4"))
		own.running(requesting("1500m"))
		own.running(requesting("250m"), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("64Mi")
			pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "example.com/init:1", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}}
		})
		_, ended := own.running(requesting("1"))
		eu.setPodStatus(ended, corev1.PodSucceeded)
		Eventually(home.offloaded(own.run(requesting("3")))).Should(isFalse(v1alpha1.ReasonQuotaExceeded), "this one is not sent")
		want, running := map[string]float64{}, eu.remotePodsOf(own.cb)
		for i := range running {
			if running[i].Status.Phase != corev1.PodRunning {
				continue
			}
			want["pods"]++
			for name, quantity := range podresource.PodRequests(&running[i], podresource.PodResourcesOptions{}) {
				want[string(name)] += quantity.AsApproximateFloat64()
			}
		}
		Expect(want).To(Equal(map[string]float64{"pods": 2, "cpu": 2, "memory": 64 << 20}))
		allowed := newScraper(own.namespace)
		allowed.mayScrape()
		token := allowed.token()
		Eventually(func(g Gomega) map[string]float64 {
			got := map[string]float64{}
			for _, metric := range families(g, port, token)["spillway_offloaded_requests"].GetMetric() {
				labels := map[string]string{}
				for _, pair := range metric.GetLabel() {
					labels[pair.GetName()] = pair.GetValue()
				}
				if labels["binding"] == own.cb.Name && labels["namespace"] == own.namespace {
					got[labels["resource"]] += metric.GetGauge().GetValue()
				}
			}
			return got
		}).Should(Equal(want))
	})
})
