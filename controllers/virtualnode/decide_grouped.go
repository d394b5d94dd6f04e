package virtualnode

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// grouping returns the condition Grouped of a binding, or nil.
func grouping(binding *v1alpha1.ClusterBinding) *metav1.Condition {
	return meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingGrouped)
}

// groupedCondition says how the provider's nodes are shown. It is nil for a binding without groupBy.
func groupedCondition(binding *v1alpha1.ClusterBinding, g Grouping) *metav1.Condition {
	keys := binding.Spec.VirtualNode.GroupBy
	var c metav1.Condition
	switch {
	case len(keys) == 0:
		return nil
	case g.TooMany > 0 && g.TooMany <= mostGroups:
		c = conditions.New(v1alpha1.BindingGrouped, metav1.ConditionFalse, v1alpha1.ReasonTooManyGroups,
			fmt.Sprintf("the provider's nodes have %d combinations of values of %s, and had more than %d: there is one virtual node for all nodes until there are at most %d", g.TooMany, joinedKeys(keys), mostGroups, fewerGroups))
	case g.TooMany > 0:
		c = conditions.New(v1alpha1.BindingGrouped, metav1.ConditionFalse, v1alpha1.ReasonTooManyGroups,
			fmt.Sprintf("the provider's nodes have %d combinations of values of %s, and at most %d virtual nodes are created: there is one for all nodes; choose other keys in spec.virtualNode.groupBy", g.TooMany, joinedKeys(keys), mostGroups))
	case g.Waiting > 0:
		c = conditions.New(v1alpha1.BindingGrouped, metav1.ConditionFalse, v1alpha1.ReasonTooManyGroups,
			fmt.Sprintf("groups without a virtual node: %d, because there are %d virtual nodes; former ones go when their pods have ended", g.Waiting, mostNodes))
	case len(g.Missing) > 0:
		c = conditions.New(v1alpha1.BindingGrouped, metav1.ConditionFalse, v1alpha1.ReasonGroupKeyMissing,
			fmt.Sprintf("no node of the provider has the label %s, so it forms no groups", strings.Join(g.Missing, " or ")))
	default:
		c = conditions.New(v1alpha1.BindingGrouped, metav1.ConditionTrue, v1alpha1.ReasonGrouped,
			fmt.Sprintf("a virtual node for each combination of values of %s that nodes of the provider have", joinedKeys(keys)))
	}
	return &c
}

func joinedKeys(keys []string) string { return strings.Join(keys, ", ") }

// setOn sets a condition of that type, or removes it.
func setOn(binding *v1alpha1.ClusterBinding, kind string, wanted *metav1.Condition) {
	if wanted == nil {
		meta.RemoveStatusCondition(&binding.Status.Conditions, kind)
		return
	}
	conditions.Set(&binding.Status.Conditions, binding.Generation, *wanted)
}

// news returns the condition of that type after a change, if it is worth an event: the nodes are not what the binding asks
// for, for another reason than before. The message of Grouped has no numbers that change all the time.
func news(before, after *v1alpha1.ClusterBinding, kind string) *metav1.Condition {
	was, now := meta.FindStatusCondition(before.Status.Conditions, kind), meta.FindStatusCondition(after.Status.Conditions, kind)
	if now == nil || now.Status == metav1.ConditionTrue || was != nil && was.Reason == now.Reason && (kind != v1alpha1.BindingGrouped || was.Message == now.Message) {
		return nil
	}
	return now
}
