package ui

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/ui/view"
)

// TestManager: the page says whether the manager is available, when that changes.
func TestManager(t *testing.T) {
	p, _ := open(t, serve(t, "--kubeconfig", kubeconfig(t, "operator", "default", "system:masters")))
	says := func(available bool, text string) func(view.Page) bool {
		return func(p view.Page) bool {
			return p.Manager != nil && p.Manager.Available == available && strings.Contains(p.Manager.Message, text)
		}
	}
	p.until("no manager", says(false, "there is no Deployment"))
	namespace(t, config.Namespace)
	labels := map[string]string{"app": "manager"}
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.Manager}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}}},
	}}
	manager.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	create(t, manager)
	p.until("a manager", says(true, ""))
	now := manager.DeepCopy()
	now.ResourceVersion, now.Status = "", appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, UnavailableReplicas: 1}
	if err := server.Status().Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	p.until("a manager that does not run", says(false, "0 of 1 replicas"))
}
