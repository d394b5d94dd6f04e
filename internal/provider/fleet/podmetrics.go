package fleet

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// NoPodMetricsError says that a provider gives no metrics of pods: it serves none, or does not let the manager
// read them. The binding says why.
type NoPodMetricsError struct{ error }

// Unwrap returns the API server's answer.
func (e NoPodMetricsError) Unwrap() error { return e.error }

// PodMetrics reads what Spillway's pods in a provider use, during one connection.
type PodMetrics struct {
	list func(ctx context.Context) (*metricsv1beta1.PodMetricsList, error)
	note func(error)
}

// List asks the provider's metrics.k8s.io for all of Spillway's pods, in one request. It notes the outcome for
// the condition Limited of the binding. A NoPodMetricsError means that nothing else is wrong with the provider.
func (m *PodMetrics) List(ctx context.Context) ([]metricsv1beta1.PodMetrics, error) {
	list, err := m.list(ctx)
	m.note(err)
	switch {
	case apierrors.IsForbidden(err), isNotServed(err):
		return nil, NoPodMetricsError{err}
	case err != nil:
		return nil, err
	}
	return list.Items, nil
}

// isNotServed reports whether there is no such API: nobody has registered it, or no backend serves it.
func isNotServed(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err)
}

// newPodMetrics returns the PodMetrics of the connection of ctx, for pods that carry the mark.
func newPodMetrics(ctx context.Context, config *rest.Config, httpClient *http.Client, mark provenance.Mark, reported *report) (*PodMetrics, error) {
	metrics, err := metricsclient.NewForConfigAndClient(inProtobuf(config), httpClient)
	if err != nil {
		return nil, err
	}
	selector := mark.Selector().String()
	return &PodMetrics{
		list: func(ctx context.Context) (*metricsv1beta1.PodMetricsList, error) {
			return metrics.PodMetricses(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: selector})
		},
		note: func(err error) {
			if ctx.Err() != nil {
				return // An error at the end of the connection says nothing about the provider.
			}
			reported.update(ctx, func(s *State) { s.NoMetrics = noMetrics(err) })
		},
	}, nil
}

// inProtobuf returns a configuration for clients of resources that are sent as protobuf.
func inProtobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// noMetrics says why a provider gives no metrics, and what its administrator can do.
func noMetrics(err error) string {
	switch {
	case err == nil:
		return ""
	case apierrors.IsForbidden(err):
		return "it does not let Spillway list pods.metrics.k8s.io; apply role_metrics.yaml of provider.yaml there"
	case isNotServed(err):
		return "it does not serve metrics.k8s.io; install metrics-server there, or check that it runs"
	}
	_, message := transport.Classify(err)
	return message
}
