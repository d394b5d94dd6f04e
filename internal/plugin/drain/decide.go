package drain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// changes reports whether a node must be written, and if not, why. A node that the manager has cordoned has no place
// in the provider, so new pods must not get there.
func changes(node *corev1.Node, cordoned bool) (change bool, why string) {
	switch {
	case node.Spec.Unschedulable == cordoned && cordoned:
		return false, "it is cordoned already"
	case node.Spec.Unschedulable == cordoned:
		return false, "it is not cordoned"
	case !cordoned && node.Annotations[v1alpha1.AnnotationCordoned] != "":
		return false, "the manager has cordoned it: " + node.Annotations[v1alpha1.AnnotationCordoned]
	}
	return true, ""
}

// marked reports whether the binding says that it is drained.
func marked(binding *v1alpha1.ClusterBinding) bool {
	return binding.Annotations[v1alpha1.AnnotationDrained] == v1alpha1.DrainedTrue
}

// needed returns the rights for what is left to do. A mark that is right already needs none.
func needed(binding *v1alpha1.ClusterBinding, drained bool, more []cli.Right) []cli.Right {
	rights := slices.Concat(rightsToCordon, more)
	if marked(binding) != drained {
		rights = append(rights, rightToMark)
	}
	return rights
}

// leaving returns the pods that must leave. Pods of DaemonSets tolerate the cordon, so their controllers would create
// them on the same node again. Pods that have ended run nowhere.
func leaving(pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		return eviction.IsDaemonSetPod(&pod) || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	})
}

// unwatched reports whether an eviction is refused for another reason than a budget. No watch tells when that ends.
func unwatched(refused map[types.NamespacedName]string) bool {
	for _, message := range refused {
		if !strings.Contains(message, "disruption budget") {
			return true
		}
	}
	return false
}

// lost returns the pods that no controller creates again.
func lost(pods []corev1.Pod) eviction.Remaining {
	return eviction.Summarise(named(slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return metav1.GetControllerOf(&pod) != nil })), nil)
}

// losses says what a drain takes from teams; "" if nothing. tied says which pods can run only there.
func losses(before []corev1.Pod, tied string) string {
	var parts []string
	if lost := lost(before); lost.Count > 0 {
		parts = append(parts, "These pods have no controller, and are lost: "+lost.String()+".")
	}
	if tied != "" {
		parts = append(parts, "Note: "+tied+".")
	}
	return strings.Join(parts, " ")
}

// left says which pods are still there, and which evictions are refused.
func left(pods []corev1.Pod, refused map[types.NamespacedName]string) string {
	remaining := eviction.Summarise(named(pods), refused)
	text := remaining.String() + " being evicted"
	if refusals := remaining.Refusals(); refusals != "" {
		text += "; " + refusals
	}
	return text
}

func named(pods []corev1.Pod) []types.NamespacedName {
	names := make([]types.NamespacedName, len(pods))
	for i := range pods {
		names[i] = client.ObjectKeyFromObject(&pods[i])
	}
	return names
}
