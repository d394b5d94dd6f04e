// Package webhook helps tests whose manager runs as a process of this machine. It does for the manager's
// webhook what a cluster does if the manager runs in a pod. It plays the Service that leads the API server to
// the webhook, and the kubelet that mounts its certificate.
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

// Patience is the number of seconds that the API server waits for an answer, in tests that do not test a
// missing webhook. The shipped time-out of two seconds is too short on a busy machine: the API server would
// then create a pod without an answer.
const Patience = 30

// Redirect changes an object of config/webhook so that it leads to a port of this machine, with the time-out
// Patience. It leaves other objects unchanged.
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

// Mount writes the content of the webhook's Secret to a folder, now and after each change, until stop is
// called.
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
					_ = os.Rename(file+".new", file) // If this fails, the test that waits for the file says so.
				}
			}
		}
	}()
	return watch.Stop, nil
}
