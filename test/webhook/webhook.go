// Package webhook plays, for a manager that is a process of this machine, what a cluster does
// for the webhook of one in a pod: a Service that leads the API server to it, and a kubelet
// that mounts its certificate.
package webhook

import (
	"context"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Patience is how many seconds the API server waits for an answer in tests that are not
// about its absence: the two that are shipped are too few on a busy machine, where a pod
// would then be created as it is.
const Patience = 30

// Redirect has an object of config/webhook lead to a port of this machine, and wait for
// Patience. Others it leaves as they are.
func Redirect(object *unstructured.Unstructured, port int) {
	switch object.GetKind() {
	case "Service":
		object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
	case "MutatingWebhookConfiguration":
		webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for i := range webhooks {
			hook, _ := webhooks[i].(map[string]any)
			hook["timeoutSeconds"] = int64(Patience)
			_ = unstructured.SetNestedField(hook, int64(port), "clientConfig", "service", "port")
		}
		_ = unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
	}
}

// Mount writes what the Secret of the webhook has, now and later, to a folder, until it is
// stopped.
func Mount(ctx context.Context, clients kubernetes.Interface, namespace, folder string) (stop func(), err error) {
	watch, err := clients.CoreV1().Secrets(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + v1alpha1.WebhookSecret})
	if err != nil {
		return nil, err
	}
	go func() {
		for event := range watch.ResultChan() {
			secret, ok := event.Object.(*corev1.Secret)
			if !ok {
				continue // The watch has ended.
			}
			for key, data := range secret.Data {
				file := filepath.Join(folder, key)
				if os.WriteFile(file+".new", data, 0o600) == nil {
					_ = os.Rename(file+".new", file) // Else the test that waits for it says so.
				}
			}
		}
	}()
	return watch.Stop, nil
}
