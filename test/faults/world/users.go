package world

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
)

// Bind does what a platform engineer does. For each provider it creates the Secret and then the
// ClusterBinding, both with the provider's name. change, if not nil, modifies the ClusterBinding.
func (w *World) Bind(ctx context.Context, change func(*v1alpha1.ClusterBinding), providers ...string) error {
	for _, id := range providers {
		binding := &v1alpha1.ClusterBinding{
			ObjectMeta: metav1.ObjectMeta{Name: id},
			Spec:       v1alpha1.ClusterBindingSpec{ClusterID: id, KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: id}},
		}
		binding.Spec.VirtualNode.ForeignPods = v1alpha1.ForeignPodsIgnore // Those of other lanes come and go.
		if change != nil {
			change(binding)
		}
		if err := w.Create(ctx, w.KubeconfigSecret(id, w.Kubeconfig(id)), binding); err != nil {
			return fmt.Errorf("binding provider %s: %w", id, err)
		}
	}
	return nil
}

// Kubeconfig returns the manager's kubeconfig for a provider. It leads through the proxy.
func (l *Lane) Kubeconfig(provider string) []byte { return l.kubeconfigs[provider] }

// KubeconfigSecret returns the Secret of a ClusterBinding with that kubeconfig.
func (l *Lane) KubeconfigSecret(binding string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: manager.DefaultNamespace, Name: binding},
		Data:       map[string][]byte{v1alpha1.DefaultKubeconfigKey: kubeconfig},
	}
}

// Offload does what a team does. It creates a namespace and its NamespaceOffloading, which sends all kinds.
func (w *World) Offload(ctx context.Context, namespace string) error {
	return w.Create(ctx, Namespace(namespace), &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.OffloadingName},
		Spec:       v1alpha1.NamespaceOffloadingSpec{Resources: append(slices.Clone(v1alpha1.DefaultResources), v1alpha1.OffloadedPodDisruptionBudgets)},
	})
}

// Create creates objects in the consumer, in their order.
func (w *World) Create(ctx context.Context, objects ...client.Object) error {
	return createAll(ctx, w.Consumer.Admin, objects)
}

// CreateIn creates objects in a provider, in their order.
func (w *World) CreateIn(ctx context.Context, provider string, objects ...client.Object) error {
	return createAll(ctx, w.Cluster(provider).Admin, objects)
}

func createAll(ctx context.Context, admin client.Client, objects []client.Object) error {
	for _, object := range objects {
		if err := admin.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T %s: %w", object, client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

// Namespace returns a namespace without labels.
func Namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Pod returns a pod that is created with the virtual node of a provider in spec.nodeName. The consumer's
// policy leaves such a pod alone. So the result does not depend on how soon the API server sees the
// offloading.
func Pod(namespace, name, provider string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			NodeName:                      v1alpha1.VirtualNodePrefix + provider,
			Containers:                    []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
			TerminationGracePeriodSeconds: ptr.To[int64](30),
		},
	}
}
