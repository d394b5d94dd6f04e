package install

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// mayRename returns an error if --cluster-id would rename the consumer while there are bindings.
func (o *options) mayRename(ctx context.Context, consumer *cli.Cluster) error {
	if o.settings.clusterID == "" {
		return nil
	}
	there, kubeSystem := &appsv1.Deployment{}, &corev1.Namespace{}
	err := consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: config.Manager}, there)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Deployment %s in %s: %w", config.Manager, consumer.Name, err)
	}
	bindings := &v1alpha1.ClusterBindingList{}
	if err := consumer.List(ctx, bindings); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("reading the ClusterBindings: %w", err)
	}
	if len(bindings.Items) == 0 {
		return nil
	}
	if err := consumer.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, kubeSystem); err != nil {
		return fmt.Errorf("reading namespace %s, whose UID names a consumer by default: %w", metav1.NamespaceSystem, err)
	}
	var names []string
	for i := range bindings.Items {
		names = append(names, bindings.Items[i].Name)
	}
	return o.settings.rename(there, namespacemap.DefaultConsumerID(kubeSystem.UID), names)
}
