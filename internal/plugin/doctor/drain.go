package doctor

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// ofDrain is the finding about a binding that kubectl spillway drain has marked, if its nodes take pods although new ones
// would not; nil if not.
func ofDrain(binding *v1alpha1.ClusterBinding, nodes []corev1.Node) *Finding {
	if binding.Annotations[v1alpha1.AnnotationDrained] != v1alpha1.DrainedTrue {
		return nil
	}
	for i := range nodes {
		if metav1.IsControlledBy(&nodes[i], binding) && !nodes[i].Spec.Unschedulable {
			return &Finding{
				Level: Warning, Check: "binding", Object: binding.Name, Message: "it is drained, so new virtual nodes are cordoned, but somebody has uncordoned node " + nodes[i].Name,
				Mend: "kubectl spillway uncordon " + binding.Name + ", or kubectl spillway drain " + binding.Name,
			}
		}
	}
	return nil
}
