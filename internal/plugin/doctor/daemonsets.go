package doctor

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// waiting reports whether a DaemonSet has a pod for the virtual node that never runs, because the DaemonSet
// tolerates the taints of all nodes.
func waiting(set *appsv1.DaemonSet, node *corev1.Node) bool {
	pod := &corev1.Pod{Spec: set.Spec.Template.Spec}
	if set.Spec.Template.Annotations[v1alpha1.AnnotationOffloadDaemonSet] == v1alpha1.OffloadTrue {
		return false // Its pod runs in the provider.
	}
	for i := range node.Spec.Taints {
		if taint := &node.Spec.Taints[i]; taint.Key == v1alpha1.TaintVirtualNode && !tolerated(pod.Spec.Tolerations, taint) {
			return false
		}
	}
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && match
}

func tolerated(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	for i := range tolerations {
		t := &tolerations[i]
		if (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
			(t.Operator == corev1.TolerationOpExists || t.Key != "" && t.Value == taint.Value) {
			return true
		}
	}
	return false
}

// ofDaemonSet is the finding about a DaemonSet with pods for virtual nodes.
func ofDaemonSet(set *appsv1.DaemonSet, nodes []string) Finding {
	return Finding{
		Level: Warning, Check: "daemonsets", Object: set.Namespace + "/" + set.Name,
		Message: "it tolerates every taint, so its pods for " + strings.Join(nodes, ", ") + " never run, and its rollouts hang",
		Mend: "give its template a required node affinity: key " + v1alpha1.LabelNodeType + ", operator DoesNotExist; or, to run it in the provider, " +
			"the annotation " + v1alpha1.AnnotationOffloadDaemonSet + "=" + v1alpha1.OffloadTrue,
	}
}

func (e *exam) daemonSets(ctx context.Context) {
	sets := &appsv1.DaemonSetList{}
	if err := e.consumer.List(ctx, sets); err != nil {
		e.found(Finding{Level: Warning, Check: "daemonsets", Message: "they cannot be read: " + err.Error(), Mend: "run doctor as a cluster administrator"})
		return
	}
	found := false
	for i := range sets.Items {
		var nodes []string
		for j := range e.seen.Nodes {
			if waiting(&sets.Items[i], &e.seen.Nodes[j]) {
				nodes = append(nodes, e.seen.Nodes[j].Name)
			}
		}
		if len(nodes) > 0 {
			found = true
			e.found(ofDaemonSet(&sets.Items[i], nodes))
		}
	}
	if !found {
		e.found(Finding{Level: OK, Check: "daemonsets", Message: "none has a pod for a virtual node"})
	}
}
