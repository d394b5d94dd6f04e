package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var (
	conditionDesc = prometheus.NewDesc("spillway_binding_condition",
		"Conditions of ClusterBindings: 1 if True, otherwise 0. A condition that is not set has no sample.", []string{"binding", "condition"}, nil)
	pausedDesc     = prometheus.NewDesc("spillway_binding_paused", "1 if spec.paused of a ClusterBinding is set, otherwise 0.", []string{"binding"}, nil)
	expirationDesc = prometheus.NewDesc("spillway_credentials_expiration_timestamp_seconds",
		"When the credentials of a ClusterBinding expire, in seconds since 1970. No sample if unknown, or if they last less than a day and more than a fifth of that is left.", []string{"binding"}, nil)
)

// conditionsOfBindings are the values of the label. Other conditions in a status are not shown.
var conditionsOfBindings = []string{
	v1alpha1.BindingReady, v1alpha1.BindingCredentialsValid, v1alpha1.BindingConnected, v1alpha1.BindingVirtualNodeReady,
	v1alpha1.BindingPodAdmission, v1alpha1.BindingMountNamespaceReady, v1alpha1.BindingDrained, v1alpha1.BindingFenced,
	v1alpha1.BindingLimited, v1alpha1.BindingClockSkewed, v1alpha1.BindingWritesRefused, v1alpha1.BindingVersionSkew, v1alpha1.BindingLimitsKnown, v1alpha1.BindingNetwork, v1alpha1.BindingShared, v1alpha1.BindingClassesReady, v1alpha1.BindingConsumerAPI, v1alpha1.BindingGrouped, v1alpha1.BindingElastic,
}

// Bindings reads ClusterBindings from the cache on each scrape, so that a deleted binding leaves no metrics.
type Bindings struct{ Reader Lister }

// Describe implements prometheus.Collector.
func (*Bindings) Describe(to chan<- *prometheus.Desc) {
	describe(to, conditionDesc, pausedDesc, expirationDesc)
}

// Collect implements prometheus.Collector.
func (b *Bindings) Collect(values chan<- prometheus.Metric) {
	var bindings v1alpha1.ClusterBindingList
	if err := b.Reader.List(context.Background(), &bindings, client.UnsafeDisableDeepCopy); err != nil {
		values <- prometheus.NewInvalidMetric(conditionDesc, err)
		return
	}
	for i := range bindings.Items {
		binding := &bindings.Items[i]
		for _, kind := range conditionsOfBindings {
			condition := meta.FindStatusCondition(binding.Status.Conditions, kind)
			if condition == nil {
				continue
			}
			value := 0.0
			if condition.Status == metav1.ConditionTrue {
				value = 1
			}
			values <- prometheus.MustNewConstMetric(conditionDesc, prometheus.GaugeValue, value, binding.Name, kind)
		}
		paused := 0.0
		if binding.Spec.Paused {
			paused = 1
		}
		values <- prometheus.MustNewConstMetric(pausedDesc, prometheus.GaugeValue, paused, binding.Name)
		if at := binding.Status.CredentialsExpirationTime; at != nil {
			values <- prometheus.MustNewConstMetric(expirationDesc, prometheus.GaugeValue, float64(at.Unix()), binding.Name)
		}
	}
}
