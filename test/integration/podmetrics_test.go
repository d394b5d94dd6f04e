package integration

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
)

// metricsAPI registers the test's server as metrics-server.
const metricsAPI = `
apiVersion: v1
kind: Service
metadata: {namespace: kube-system, name: metrics}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: kube-system, name: metrics, port: %d}
`

// serveMetrics makes a cluster serve metrics of pods, as metrics-server does, until the spec ends.
func (c *controlPlane) serveMetrics(pods ...metricsv1beta1.PodMetrics) {
	GinkgoHelper()
	served := runtime.NewScheme()
	Expect(metricsv1beta1.AddToScheme(served)).To(Succeed())
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil || !strings.HasSuffix(r.URL.Path, "/pods") {
			return // The API server only checks that there is an answer.
		}
		list := &metricsv1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{APIVersion: "metrics.k8s.io/v1beta1", Kind: "PodMetricsList"}}
		for _, pod := range pods {
			if selector.Matches(labels.Set(pod.Labels)) {
				list.Items = append(list.Items, pod)
			}
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_ = protobuf.NewSerializer(served, served).Encode(list, w)
	}))
	DeferCleanup(server.Close)
	manifest := fmt.Sprintf(metricsAPI, server.Listener.Addr().(*net.TCPAddr).Port)
	_, err := c.kubectl(manifest, "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		_, err := c.kubectl(manifest, "delete", "-f", "-")
		Expect(err).NotTo(HaveOccurred())
	})
	_, err = c.kubectl("", "wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=1m")
	Expect(err).NotTo(HaveOccurred())
}

// metricsOf returns the usage of a pod's first container.
func metricsOf(namespace, name string, labels map[string]string) metricsv1beta1.PodMetrics {
	usage := corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("64Mi")}
	return metricsv1beta1.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Timestamp: metav1.Now(),
		Window: metav1.Duration{Duration: 15 * time.Second}, Containers: []metricsv1beta1.ContainerMetrics{{Name: "app", Usage: usage}},
	}
}

// scrape returns the metrics of the virtual node of a binding.
func (c *controlPlane) scrape(port int, cb *v1alpha1.ClusterBinding) string {
	GinkgoHelper()
	admin := c.Config().TLSClientConfig
	code, body := askFor(port, kubeletapi.MetricsPath(cb.VirtualNodeName()), nil, &admin, 1<<20)
	Expect(code).To(Equal(http.StatusOK), fmt.Sprintf("scraping the node of %s: %s", cb.Name, body))
	return body
}
