package metrics

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// bound is a cache of these ClusterBindings.
type bound struct {
	client.Reader
	bindings []v1alpha1.ClusterBinding
}

func (b bound) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.ClusterBindingList).Items = b.bindings
	return nil
}

func TestBindings(t *testing.T) {
	eu := builder.Binding("eu").Condition(v1alpha1.BindingConnected, metav1.ConditionTrue, "Connected", "").
		Condition(v1alpha1.BindingReady, metav1.ConditionFalse, "LimitsMissing", "").
		Condition("Invented", metav1.ConditionTrue, "Invented", "").Obj()
	eu.Status.CredentialsExpirationTime = &metav1.Time{Time: builder.Epoch}
	us := builder.Binding("us").Condition(v1alpha1.BindingConnected, metav1.ConditionUnknown, "Connecting", "").Obj()
	us.Spec.Paused = true
	want := map[string]float64{
		"spillway_binding_paused eu":                           0,
		"spillway_binding_paused us":                           1,
		"spillway_binding_condition eu Connected":              1,
		"spillway_binding_condition eu Ready":                  0,
		"spillway_binding_condition us Connected":              0,
		"spillway_credentials_expiration_timestamp_seconds eu": float64(builder.Epoch.Unix()),
	}
	got := gather(t, &Bindings{Reader: bound{bindings: []v1alpha1.ClusterBinding{*eu, *us}}})
	for name := range got { // The builder sets more.
		if _, asked := want[name]; !asked && !strings.Contains(name, "Invented") {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := gather(t, &Bindings{Reader: bound{}}); len(got) > 0 {
		t.Errorf("without bindings there are %v", got)
	}
	elected := make(chan struct{})
	reader := WhenElected{Reader: bound{bindings: []v1alpha1.ClusterBinding{*eu}}, Elected: elected}
	if got := gather(t, &Bindings{Reader: reader}); len(got) > 0 {
		t.Errorf("a standby says %v", got)
	}
	close(elected)
	if got := gather(t, &Bindings{Reader: reader}); len(got) == 0 {
		t.Error("the elected one says nothing")
	}
}

// TestAllConditionsAreShown reads the constants.
func TestAllConditionsAreShown(t *testing.T) {
	shown := map[string]bool{}
	for _, kind := range conditionsOfBindings {
		shown[kind] = true
	}
	found := 0
	for name, value := range constantsOf(t, "../../api/v1alpha1") {
		if !strings.HasPrefix(name, "Binding") {
			continue
		}
		found++
		if !shown[value] {
			t.Errorf("%s is not shown", name)
		}
	}
	if found != len(conditionsOfBindings) {
		t.Errorf("there are %d constants, and %d conditions are shown", found, len(conditionsOfBindings))
	}
}

func TestUsage(t *testing.T) {
	usage := &Usage{Of: func() []connection.Usage {
		eu := connection.Usage{ClusterID: "eu", Memory: 1 << 20, MaxMemory: 256 << 20, Objects: 7, MaxObjects: 50_000}
		return []connection.Usage{eu, {ClusterID: "us", MaxMemory: 1, MaxObjects: 1}, eu}
	}}
	want := map[string]float64{
		"spillway_provider_memory_bytes eu": 1 << 20, "spillway_provider_memory_limit_bytes eu": 256 << 20,
		"spillway_provider_objects eu": 7, "spillway_provider_objects_limit eu": 50_000,
		"spillway_provider_memory_bytes us": 0, "spillway_provider_memory_limit_bytes us": 1,
		"spillway_provider_objects us": 0, "spillway_provider_objects_limit us": 1,
	}
	if diff := cmp.Diff(want, gather(t, usage)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestStreams(t *testing.T) {
	streams := &Streams{Of: func() map[StreamsOf]StreamUsage {
		return map[StreamsOf]StreamUsage{{"eu", "exec"}: {Open: 2, Received: 7, Sent: 1}, {"us", "log"}: {Received: 3}}
	}}
	want := map[string]float64{
		"spillway_streams eu exec": 2, "spillway_stream_bytes_total eu received exec": 7, "spillway_stream_bytes_total eu sent exec": 1,
		"spillway_streams us log": 0, "spillway_stream_bytes_total us received log": 3, "spillway_stream_bytes_total us sent log": 0,
	}
	if diff := cmp.Diff(want, gather(t, streams)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
