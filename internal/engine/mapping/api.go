package mapping

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// API says which pods use the consumer's API from the provider of a Mapping, and where they reach it.
func API(m *Mapping) field.ConsumerAPI {
	api := field.ConsumerAPI{Invalid: InvalidAPI(m.binding), Lists: func(namespace, account string) bool {
		if m.Offloading == nil {
			return false
		}
		nso := m.Offloading(namespace)
		return nso != nil && slices.Contains(nso.Spec.APIAccess.ServiceAccounts, v1alpha1.ServiceAccountName(account))
	}}
	if m.binding.Spec.ConsumerAPI.Host != "" {
		api.Endpoint = &m.binding.Spec.ConsumerAPI
	}
	return api
}

// InvalidAPI says why pods cannot use spec.consumerAPI of a binding. It returns "" if that is not known.
func InvalidAPI(binding *v1alpha1.ClusterBinding) string {
	c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingConsumerAPI)
	if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != binding.Generation {
		return "" // A verdict about another spec does not count.
	}
	return c.Message
}
