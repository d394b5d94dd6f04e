package fleet

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trimNode keeps what capacity needs, and the labels and features that a virtual node shows. Since when a node is not ready
// says whether it is starting or broken.
func trimNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	trimmed := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion,
			Labels: node.Labels, CreationTimestamp: node.CreationTimestamp, DeletionTimestamp: node.DeletionTimestamp},
		Spec:   corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable, Taints: hardTaints(node.Spec.Taints)},
		Status: corev1.NodeStatus{Allocatable: node.Status.Allocatable, DeclaredFeatures: boundedFeatures(node.Status.DeclaredFeatures)},
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			trimmed.Status.Conditions = []corev1.NodeCondition{{Type: condition.Type, Status: condition.Status, LastTransitionTime: condition.LastTransitionTime}}
		}
	}
	return trimmed, nil
}

// hardTaints returns the taints that may keep a pod off, without values and times.
func hardTaints(taints []corev1.Taint) []corev1.Taint {
	var hard []corev1.Taint
	for _, taint := range taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			hard = append(hard, corev1.Taint{Key: taint.Key, Effect: taint.Effect})
		}
	}
	return hard
}

// mostFeatures limits the features checked per node: Kubernetes 1.36 has five.
const mostFeatures = 64

// featureName matches what a Node may declare. With any other name, the consumer would refuse the whole status
// of the virtual node.
var featureName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}(/[A-Za-z][A-Za-z0-9]{0,62}){0,2}$`)

// boundedFeatures returns the features that a virtual node may declare, too.
func boundedFeatures(declared []string) []string {
	var features []string
	for _, name := range declared[:min(len(declared), mostFeatures)] {
		if featureName.MatchString(name) {
			features = append(features, name)
		}
	}
	return features
}
