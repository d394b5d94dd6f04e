package clusterbinding

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// setConsumerAPI reports whether spec.consumerAPI leads to the consumer's API server. While that is not known
// yet, the last verdict about the same spec stays.
func setConsumerAPI(s snapshot, status *v1alpha1.ClusterBindingStatus) {
	if s.Binding.Spec.ConsumerAPI.Host == "" {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingConsumerAPI)
		return
	}
	if s.ConsumerAPI.Reason == "" {
		return
	}
	is := metav1.ConditionFalse
	switch s.ConsumerAPI.Reason {
	case v1alpha1.ReasonVerified:
		is = metav1.ConditionTrue
	case v1alpha1.ReasonUnverified:
		is = metav1.ConditionUnknown
	}
	conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingConsumerAPI, is, s.ConsumerAPI.Reason, s.ConsumerAPI.Message))
}
