package offload

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
)

// podsOf returns the pods of a namespace. They are only for the output, so failing to read them is no error.
// Users may lack the right.
func podsOf(ctx context.Context, consumer *cli.Cluster, output *cli.Output, namespace string) []corev1.Pod {
	pods := &corev1.PodList{}
	err := consumer.List(ctx, pods, client.InNamespace(namespace))
	if err != nil && !apierrors.IsForbidden(err) {
		output.Warn("cannot tell which pods of namespace %s leave virtual nodes, or wait for one: %v", namespace, err)
	}
	return pods.Items
}

// Evicted returns the pods that the manager evicts when the offloading ends: those on virtual nodes, and
// those that wait for one and that their controllers recreate.
func Evicted(pods []corev1.Pod, offloading *v1alpha1.NamespaceOffloading) []corev1.Pod {
	ends := offloading.DeepCopy()
	if ends.DeletionTimestamp.IsZero() {
		ends.DeletionTimestamp = &metav1.Time{Time: time.Unix(1<<40, 0)} // All pods are older.
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		there := strings.HasPrefix(pod.Spec.NodeName, v1alpha1.VirtualNodePrefix) &&
			eviction.Decide(eviction.Snapshot{Pod: &pod, Binding: &v1alpha1.ClusterBinding{}, Offloading: ends}) == eviction.OffloadingDeleted
		return !there && unscheduledpod.FateOf(&pod, ends, placement.Index{}) != unscheduledpod.Recreated
	})
}

// removed returns the remote namespaces that are deleted when the offloading ends.
func removed(offloading *v1alpha1.NamespaceOffloading) []cli.Step {
	var steps []cli.Step
	for _, one := range offloading.Status.RemoteNamespaceConditions {
		if meta.IsStatusConditionTrue(one.Conditions, v1alpha1.RemoteNamespaceReady) {
			steps = append(steps, unbind.Removal(one.RemoteNamespace, one.Cluster))
		}
	}
	return steps
}

// keeping changes the steps of remote namespaces that stay for the sake of their volumes.
func keeping(ctx context.Context, consumer *cli.Cluster, output *cli.Output, offloading *v1alpha1.NamespaceOffloading, steps []cli.Step) []cli.Step {
	volumes, err := unbind.ReadVolumes(ctx, consumer, client.InNamespace(offloading.Namespace))
	if err != nil {
		output.Warn("%v", err)
	}
	for i := range steps {
		for _, one := range offloading.Status.RemoteNamespaceConditions {
			if steps[i] == unbind.Removal(one.RemoteNamespace, one.Cluster) {
				steps[i] = volumes.Keep(steps[i], one.Cluster, offloading.Namespace, offloading)
			}
		}
	}
	return steps
}

// Stranded returns the other pods that would wait for ever in a namespace that is not offloaded.
func Stranded(pods, evicted []corev1.Pod, bindings placement.Index) eviction.Remaining {
	var names []types.NamespacedName
	for i := range pods {
		if pod := &pods[i]; !contains(evicted, pod) && unscheduledpod.Strands(pod, bindings) {
			names = append(names, client.ObjectKeyFromObject(pod))
		}
	}
	return eviction.Summarise(names, nil)
}

func contains(pods []corev1.Pod, pod *corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(other corev1.Pod) bool { return other.UID == pod.UID })
}

// left reports which of the pods to be evicted are gone, and which pods wait for ever.
func left(ctx context.Context, consumer *cli.Cluster, output *cli.Output, namespace string, evicted []corev1.Pod) {
	pods := podsOf(ctx, consumer, output, namespace)
	gone := slices.DeleteFunc(evicted, func(pod corev1.Pod) bool { return contains(pods, &pod) })
	tell(ctx, consumer, output, namespace, pods, gone)
}

// tell reports the evicted pods, and the other pods that wait for ever.
func tell(ctx context.Context, consumer *cli.Cluster, output *cli.Output, namespace string, pods, evicted []corev1.Pod) {
	for i := range evicted {
		output.Did(unbind.Eviction(&evicted[i]))
	}
	bindings := &v1alpha1.ClusterBindingList{}
	err := consumer.List(ctx, bindings) // Teams need not see them.
	if stranded := Stranded(pods, evicted, placement.NewIndex(bindings.Items)); stranded.Count > 0 {
		output.Warn("without an offloading of namespace %s, pods that can run only on virtual nodes stay Pending%s: %s; delete them, and recreate those without a controller",
			namespace, status.UnlessMounted(err != nil && !meta.IsNoMatchError(err)), stranded)
	}
}
