package unbind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// warn names the pods that can only run on the node of a binding and wait for it, and the pods on it that a
// budget keeps. The deletion of the binding ignores pods that wait: their controllers' new pods would wait
// for the same node.
func warn(ctx context.Context, consumer *cli.Cluster, output *cli.Output, binding *v1alpha1.ClusterBinding) {
	pods := &corev1.PodList{}
	if err := OnNodes(ctx, consumer, binding, pods); err == nil && binding.Spec.Drains() { // Otherwise the list of losses says why not.
		WarnOfBudgets(ctx, consumer, output, pods.Items)
		if tied := Tied(ctx, consumer, output, binding, pods.Items); tied != "" {
			output.Warn("%s", tied)
		}
	}
	WarnOfWaiting(ctx, consumer, output, binding, "offload their namespaces to other providers, or remove what restricts them to this one, and delete them")
}

// WarnOfWaiting names the pods that can only run on the nodes of a binding, and wait for one. then says what to do about them.
func WarnOfWaiting(ctx context.Context, consumer *cli.Cluster, output *cli.Output, binding *v1alpha1.ClusterBinding, then string) {
	pods, nodes := &corev1.PodList{}, &corev1.NodeList{}
	err := errors.Join(consumer.List(ctx, pods, client.MatchingFields{"spec.nodeName": ""}), consumer.List(ctx, nodes))
	if apierrors.IsForbidden(err) {
		return // Users who may delete bindings need not see them.
	}
	if err != nil {
		output.Warn("cannot tell which pods need node %s: %v", binding.VirtualNodeName(), err)
		return
	}
	volumes, err := ReadVolumes(ctx, consumer)
	if err != nil {
		output.Warn("%v", err)
	}
	if left := OnlyThere(pods.Items, nodes.Items, binding.VirtualNodeName(), volumes); left.Count > 0 {
		output.Warn("pods that can run only on node %s stay Pending: %s; %s", binding.VirtualNodeName(), left, then)
	}
}

// Tied says which namespaces have pods on the nodes of a binding whose successors can run only there; "" if none has.
func Tied(ctx context.Context, consumer *cli.Cluster, output *cli.Output, binding *v1alpha1.ClusterBinding, pods []corev1.Pod) string {
	nodes := &corev1.NodeList{}
	err := consumer.List(ctx, nodes)
	if err != nil && !apierrors.IsForbidden(err) {
		output.Warn("cannot tell which pods need node %s: %v", binding.VirtualNodeName(), err)
	}
	volumes, err := ReadVolumes(ctx, consumer)
	if err != nil {
		output.Warn("%v", err)
	}
	offloadings := &v1alpha1.NamespaceOffloadingList{}
	if err := consumer.List(ctx, offloadings); err != nil && !apierrors.IsForbidden(err) {
		output.Warn("cannot tell to which providers the namespaces are offloaded now: %v", err)
	}
	namespaces := tied(pods, nodes.Items, binding.VirtualNodeName(), volumes, offloadings.Items)
	if len(namespaces) == 0 {
		return ""
	}
	return "pods that can run only on node " + binding.VirtualNodeName() + " are evicted, and the pods that replace them stay Pending: " + strings.Join(namespaces, ", ")
}

// tied counts, by namespace, the pods that a controller recreates and that fit the nodes of this provider alone. If the namespace
// is offloaded to others since, a new pod does not get what the offloading has added to this one.
func tied(pods []corev1.Pod, nodes []corev1.Node, node string, volumes Volumes, offloadings []v1alpha1.NamespaceOffloading) []string {
	pods = slices.Clone(pods)
	for i := range pods {
		if goesElsewhere(offloadings, pods[i].Namespace, node) {
			pods[i].Spec.Affinity = written(&pods[i])
		}
	}
	count := map[string]int{}
	for _, pod := range only(pods, nodes, node, volumes) {
		if metav1.GetControllerOf(&pod) != nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			count[pod.Namespace]++
		}
	}
	var namespaces []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		namespaces = append(namespaces, fmt.Sprintf("%d in namespace %s", count[name], name))
	}
	return namespaces
}

// WarnOfEnd names the pods that stay Pending once there is no virtual node any more. offloaded are the namespaces that are taken back.
func WarnOfEnd(ctx context.Context, consumer *cli.Cluster, output *cli.Output, offloaded []string) {
	pods, nodes := &corev1.PodList{}, &corev1.NodeList{}
	err := errors.Join(consumer.List(ctx, pods), consumer.List(ctx, nodes))
	if apierrors.IsForbidden(err) {
		return
	}
	volumes, more := ReadVolumes(ctx, consumer)
	if err = errors.Join(err, more); err != nil {
		output.Warn("cannot tell which pods need a virtual node: %v", err)
		return
	}
	if left := OnlyVirtual(pods.Items, nodes.Items, volumes, offloaded); left.Count > 0 {
		output.Warn("pods that can run only on virtual nodes stay Pending, or the pods that replace them: %s; remove what restricts them to these nodes, and delete them", left)
	}
}

// OnlyVirtual summarises the pods that wait for a virtual node, and those on one that a controller recreates, that fit no other
// node. In a namespace that is taken back, the manager evicts them, and new ones do not get what the offloading has added.
func OnlyVirtual(pods []corev1.Pod, nodes []corev1.Node, volumes Volumes, offloaded []string) eviction.Remaining {
	virtual := func(node string) bool { return strings.HasPrefix(node, v1alpha1.VirtualNodePrefix) }
	local := slices.DeleteFunc(slices.Clone(nodes), func(node corev1.Node) bool { return virtual(node.Name) })
	var names []types.NamespacedName
	for _, pod := range pods {
		recreated := metav1.GetControllerOf(&pod) != nil
		if pod.Spec.NodeName != "" && (!virtual(pod.Spec.NodeName) || !recreated) || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if recreated && slices.Contains(offloaded, pod.Namespace) {
			pod.Spec.Affinity = written(&pod)
		}
		tied := func(node corev1.Node) bool {
			return virtual(node.Name) && len(only([]corev1.Pod{pod}, append(slices.Clone(local), node), node.Name, volumes)) > 0
		}
		if slices.ContainsFunc(nodes, tied) {
			names = append(names, client.ObjectKeyFromObject(&pod))
		}
	}
	return eviction.Summarise(names, nil)
}

// written returns the affinity of a pod without what Spillway has added to it. In each term, the first requirement that the node is
// virtual or local begins what was added; what the user wrote is before it (package admission).
func written(pod *corev1.Pod) *corev1.Affinity {
	affinity := pod.Spec.Affinity.DeepCopy()
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return affinity
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		added := slices.IndexFunc(terms[i].MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return equality.Semantic.DeepEqual(r, admission.OnVirtual) || equality.Semantic.DeepEqual(r, admission.OnLocal)
		})
		switch {
		case added == 0: // Nothing is left of this term, so any node is allowed.
			affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
			return affinity
		case added > 0:
			terms[i].MatchExpressions = terms[i].MatchExpressions[:added]
		}
	}
	return affinity
}

// goesElsewhere reports whether a namespace is offloaded to another provider than that of a node.
func goesElsewhere(offloadings []v1alpha1.NamespaceOffloading, namespace, node string) bool {
	return slices.ContainsFunc(offloadings, func(o v1alpha1.NamespaceOffloading) bool {
		return o.Namespace == namespace && slices.ContainsFunc(o.Status.RemoteNamespaceConditions, func(remote v1alpha1.RemoteNamespaceStatus) bool {
			return remote.Cluster != v1alpha1.ClusterIDOf(node) && meta.IsStatusConditionTrue(remote.Conditions, v1alpha1.RemoteNamespaceRequired)
		})
	})
}

// OnlyThere summarises the pods that fit the nodes of one provider and no other.
func OnlyThere(pods []corev1.Pod, nodes []corev1.Node, node string, volumes Volumes) eviction.Remaining {
	var names []types.NamespacedName
	for _, pod := range only(pods, nodes, node, volumes) {
		names = append(names, client.ObjectKeyFromObject(&pod))
	}
	return eviction.Summarise(names, nil)
}

// only returns the pods that fit the nodes of one provider and no other, by their node selectors, affinity and volumes. A pod
// that does not tolerate virtual nodes waits for another one, whatever fits. Tolerations of other providers do not count: pods
// that replace others may get them.
func only(pods []corev1.Pod, nodes []corev1.Node, node string, volumes Volumes) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		there, elsewhere := false, false
		required := nodeaffinity.GetRequiredNodeAffinity(&pod)
		for j := range nodes {
			if fits, err := required.Match(&nodes[j]); err != nil || !fits {
				continue
			}
			of := v1alpha1.SameProvider(nodes[j].Name, node)
			there, elsewhere = there || of && admission.Tolerates(&pod, v1alpha1.ClusterIDOf(node)), elsewhere || !of
		}
		if volumes.hold(&pod, v1alpha1.ClusterIDOf(node)) {
			there, elsewhere = true, false
		}
		return !there || elsewhere || !pod.DeletionTimestamp.IsZero() || eviction.IsDaemonSetPod(&pod)
	})
}
