package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/kubeletapi"
)

// metricsAPI stands for metrics-server: an API of that name, with the objects that the
// specs put into it.
const metricsAPI = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: pods.metrics.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, in place of metrics-server"}
spec:
  group: metrics.k8s.io
  scope: Namespaced
  names: {plural: pods, singular: pod, kind: PodMetrics, listKind: PodMetricsList}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// serveMetrics has a cluster serve metrics of pods, until the spec ends.
func (c *controlPlane) serveMetrics() {
	GinkgoHelper()
	_, err := c.kubectl(metricsAPI, "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		_, err := c.kubectl(metricsAPI, "delete", "-f", "-")
		Expect(err).NotTo(HaveOccurred())
	})
	_, err = c.kubectl("", "wait", "--for=condition=Established", "crd/pods.metrics.k8s.io", "--timeout=1m")
	Expect(err).NotTo(HaveOccurred())
}

// putMetrics says what the first container of a pod uses.
func (c *controlPlane) putMetrics(pod *corev1.Pod, labels map[string]string) {
	GinkgoHelper()
	metrics, err := json.Marshal(map[string]any{
		"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
		"metadata":  map[string]any{"namespace": pod.Namespace, "name": pod.Name, "labels": labels},
		"timestamp": time.Now().UTC().Format(time.RFC3339), "window": "15s",
		"containers": []any{map[string]any{"name": "app", "usage": map[string]any{"cpu": "250m", "memory": "64Mi"}}},
	})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error { // The API may be served a moment after it is said to be.
		_, err := c.kubectl(string(metrics), "apply", "-f", "-")
		return err
	}).Should(Succeed())
}

// scrape returns the metrics of the virtual node of a binding.
func (c *controlPlane) scrape(port int, cb *v1alpha1.ClusterBinding) string {
	GinkgoHelper()
	admin := c.Config().TLSClientConfig
	code, body := askFor(port, kubeletapi.MetricsPath(cb.VirtualNodeName()), nil, &admin, 1<<20)
	Expect(code).To(Equal(http.StatusOK), fmt.Sprintf("scraping the node of %s: %s", cb.Name, body))
	return body
}
