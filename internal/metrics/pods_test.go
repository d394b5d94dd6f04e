package metrics

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/field"
)

// full is a cache with these objects.
type full struct {
	cache.Cache
	pods       []corev1.Pod
	configMaps []corev1.ConfigMap
}

func (f full) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *corev1.PodList:
		list.Items = f.pods
	case *corev1.ConfigMapList:
		list.Items = f.configMaps
	}
	return nil
}

// unread is an unreadable cache.
type unread struct{ cache.Cache }

func (unread) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not full yet")
}

func podIn(phase corev1.PodPhase, conditions ...corev1.PodCondition) corev1.Pod {
	return corev1.Pod{Status: corev1.PodStatus{Phase: phase, Conditions: conditions}}
}

func offloaded(status corev1.ConditionStatus, reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: v1alpha1.PodOffloaded, Status: status, Reason: reason, LastTransitionTime: metav1.Unix(200, 0)}
}

func TestPods(t *testing.T) {
	early := offloaded(corev1.ConditionFalse, "anything else")
	early.LastTransitionTime = metav1.Unix(100, 0)
	eu := full{
		pods: []corev1.Pod{
			podIn(corev1.PodRunning), podIn(corev1.PodRunning, offloaded(corev1.ConditionTrue, v1alpha1.ReasonOffloaded)),
			podIn(corev1.PodPending, offloaded(corev1.ConditionFalse, v1alpha1.ReasonRejected)),
			podIn(corev1.PodPending, offloaded(corev1.ConditionFalse, field.ReasonPodSecurity)),
			podIn(corev1.PodPending, offloaded(corev1.ConditionFalse, "anything"), corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NotThis"}),
			podIn(corev1.PodPending, early),
			podIn("Invented"),
		},
		configMaps: make([]corev1.ConfigMap, 3),
	}
	collector := &Pods{Views: func() map[string]*views.View {
		return map[string]*views.View{
			"eu": {Cache: eu, ClusterID: "eu"}, "eu-again": {Cache: eu, ClusterID: "eu"}, "us": {Cache: unread{}, ClusterID: "us"},
		}
	}}
	want := map[string]float64{
		"spillway_dependents eu configmap": 3, "spillway_dependents eu secret": 0,
		"spillway_dependents eu persistentvolume": 0, "spillway_dependents eu persistentvolumeclaim": 0,
		"spillway_pods eu Failed": 0, "spillway_pods eu Pending": 4, "spillway_pods eu Running": 2,
		"spillway_pods eu Succeeded": 0, "spillway_pods eu Unknown": 1,
		"spillway_pods_refused eu PodSecurity": 1, "spillway_pods_refused eu Rejected": 1, "spillway_pods_refused eu other": 2,
		"spillway_pods_refused_since_timestamp_seconds eu PodSecurity": 200, "spillway_pods_refused_since_timestamp_seconds eu Rejected": 200,
		"spillway_pods_refused_since_timestamp_seconds eu other": 100,
	}
	if diff := cmp.Diff(want, gather(t, collector)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// gather returns a collector's values, by the name of the metric and its labels.
func gather(t *testing.T, collector prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue() // It is one of the two.
		}
	}
	return got
}
