package doctor

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/config"
)

// metrics asks the provider for metrics as the manager does, but only of the namespace spillway-provider, which has no
// pods.
func (p *providers) metrics(ctx context.Context, name string, account *rest.Config) {
	clients, err := kubernetes.NewForConfig(account)
	if err == nil {
		err = clients.RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/" + config.ProviderNamespace + "/pods").Do(ctx).Error()
	}
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) { // rights and credentials say that already.
		p.found(ofMetrics(name, err))
	}
}

// ofMetrics is the finding about the provider's metrics. A provider without metrics-server may be intended. One that
// is registered and does not answer is not.
func ofMetrics(name string, err error) Finding {
	f := Finding{Level: OK, Check: "metrics", Object: name, Message: "its metrics-server answers, for kubectl top"}
	switch {
	case apierrors.IsNotFound(err):
		f.Message = "it has no metrics-server, so kubectl top shows none of its pods"
	case err != nil:
		f.Level = Warning
		f.Message = "its metrics-server is registered and does not answer: kubectl top and HorizontalPodAutoscalers have no metrics of its pods, and Kubernetes deletes none of its namespaces: " + err.Error()
		f.Mend = "in the provider: kubectl get apiservice v1beta1.metrics.k8s.io; start metrics-server, or delete that APIService"
	}
	return f
}

// sorted lists names.
func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}
