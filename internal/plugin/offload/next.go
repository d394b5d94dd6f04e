package offload

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// next says what to do about pods that were there before the offloading. It is only for the output, so failing to read them
// is no error.
func next(ctx context.Context, consumer *cli.Cluster, output *cli.Output, offloading *v1alpha1.NamespaceOffloading) {
	pods := &corev1.PodList{}
	if err := consumer.List(ctx, pods, client.InNamespace(offloading.Namespace)); err != nil {
		output.Say("Running pods stay where they are; new ones may run in providers")
		return
	}
	for _, line := range advice(offloading, pods.Items) {
		output.Say("%s", line)
	}
}

// advice says how the pods that stay in this cluster get to a provider: by a restart of what creates them, or, without a
// Deployment or StatefulSet, if they are created again.
func advice(offloading *v1alpha1.NamespaceOffloading, pods []corev1.Pod) []string {
	var workloads []string
	var others []types.NamespacedName
	for i := range pods {
		pod := &pods[i]
		if !stays(pod, offloading) {
			continue
		}
		if workload := workloadOf(pod); workload != "" {
			workloads = append(workloads, workload)
		} else {
			others = append(others, client.ObjectKeyFromObject(pod))
		}
	}
	var lines []string
	if len(workloads) > 0 {
		lines = append(lines, fmt.Sprintf("Next: kubectl rollout restart %s -n %s, because running pods stay where they are", restarted(workloads), offloading.Namespace))
	}
	if len(others) > 0 {
		lines = append(lines, "These stay in this cluster until they are deleted and created again: "+eviction.Summarise(others, nil).String())
	}
	return lines
}

// stays reports whether a pod would get to a provider, or might, if it were created now. Pods of Jobs end by themselves.
func stays(pod *corev1.Pod, offloading *v1alpha1.NamespaceOffloading) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	switch spec := &offloading.Spec; {
	case spec.PodOffloadingStrategy == v1alpha1.PodsLocal, spec.PodOffloadingStrategy == v1alpha1.PodsLocalFirst, len(spec.Overflow) > 0 && spec.Overflow[0].Local:
		return false
	case ended(pod), !pod.DeletionTimestamp.IsZero(), eviction.IsDaemonSetPod(pod), owner != nil && owner.Kind == "Job", strings.HasPrefix(pod.Spec.NodeName, v1alpha1.VirtualNodePrefix):
		return false
	case spec.PodOffloadingStrategy == v1alpha1.PodsRemote || len(spec.Overflow) > 0:
		return pod.Spec.NodeName != "" || !tolerates(pod)
	}
	return !tolerates(pod) && len(needs.Claims(pod)) == 0 // With claims, new ones do not tolerate it either.
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// tolerates reports whether a pod was prepared for providers.
func tolerates(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == v1alpha1.TaintVirtualNode })
}

// workloadOf returns what to restart to recreate a pod, as kubectl names it; "" if it has no Deployment or StatefulSet. A
// Deployment names its ReplicaSets after itself and the hash of their template.
func workloadOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || !strings.HasPrefix(owner.APIVersion, appsv1.GroupName+"/") {
		return ""
	}
	hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	deployment, found := strings.CutSuffix(owner.Name, "-"+hash)
	switch {
	case owner.Kind == "StatefulSet":
		return "statefulset/" + owner.Name
	case owner.Kind == "ReplicaSet" && hash != "" && found:
		return "deployment/" + deployment
	}
	return ""
}

// restarted returns the arguments of kubectl rollout restart: the workloads, or, if there are many, their kinds.
func restarted(workloads []string) string {
	slices.Sort(workloads)
	workloads = slices.Compact(workloads)
	if len(workloads) <= most {
		return strings.Join(workloads, " ")
	}
	for i := range workloads {
		workloads[i], _, _ = strings.Cut(workloads[i], "/")
	}
	return strings.Join(slices.Compact(workloads), ",")
}
