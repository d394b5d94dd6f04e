package consumer

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// evictionTimeout limits one eviction.
const evictionTimeout = 10 * time.Second

// Evict sends one request to evict a pod, on the condition that the pod is still as it was seen.
//
// The client library would block its caller for as long as the API server's Retry-After says, up to ten
// times, and lose the reason.
func Evict(ctx context.Context, consumer kubernetes.Interface, pod *corev1.Pod, seen *metav1.Preconditions) error {
	ctx, cancel := context.WithTimeout(ctx, evictionTimeout)
	defer cancel()
	return consumer.CoreV1().RESTClient().Post().MaxRetries(0).
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		Body(&policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: seen},
		}).Do(ctx).Error()
}
