package offload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

func TestOffloading(t *testing.T) {
	type requirement = v1alpha1.ClusterSelectorRequirement
	there := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{
		PodOffloadingStrategy: v1alpha1.PodsRemote, NamespaceMappingStrategy: v1alpha1.MappingDefaultName, Resources: []v1alpha1.OffloadedResource{v1alpha1.OffloadedServices},
		ClusterSelector: &v1alpha1.ClusterSelector{},
	}}
	selector := func(all ...requirement) *v1alpha1.ClusterSelector {
		return &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{MatchExpressions: all}}}
	}
	tests := map[string]struct {
		wanted Wanted
		there  *v1alpha1.NamespaceOffloading
		want   v1alpha1.NamespaceOffloadingSpec
	}{
		"no flags":           {Wanted{}, nil, v1alpha1.NamespaceOffloadingSpec{}},
		"what is there":      {Wanted{}, there, there.Spec},
		"a strategy":         {Wanted{Strategy: "Local"}, nil, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsLocal}},
		"a name":             {Wanted{RemoteName: "x"}, nil, v1alpha1.NamespaceOffloadingSpec{RemoteNamespaceName: "x", NamespaceMappingStrategy: v1alpha1.MappingSelectedName}},
		"no Services either": {Wanted{Resources: []string{}}, nil, v1alpha1.NamespaceOffloadingSpec{Resources: []v1alpha1.OffloadedResource{}}},
		"clusters and labels": {Wanted{Clusters: []string{"eu", "us"}, Selector: "a=b,c notin (e,d),f,!g,h>1"}, nil, v1alpha1.NamespaceOffloadingSpec{ClusterSelector: selector(
			requirement{Key: "spillway.io/cluster", Operator: "In", Values: []string{"eu", "us"}},
			requirement{Key: "a", Operator: "In", Values: []string{"b"}}, requirement{Key: "c", Operator: "NotIn", Values: []string{"d", "e"}},
			requirement{Key: "f", Operator: "Exists"}, requirement{Key: "g", Operator: "DoesNotExist"}, requirement{Key: "h", Operator: "Gt", Values: []string{"1"}},
		)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.wanted.offloading(test.there)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, err := (Wanted{Selector: "a in b"}).offloading(nil); err == nil {
		t.Error("a selector that is none is taken")
	}
}

func TestUnbound(t *testing.T) {
	bindings := []v1alpha1.ClusterBinding{{Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}, {ObjectMeta: metav1.ObjectMeta{Name: "us"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "other"}}}
	if diff := cmp.Diff([]string{"us"}, unbound([]string{"eu", "us"}, bindings)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProgress(t *testing.T) {
	with := func(phase v1alpha1.OffloadingPhase, generation int64, status metav1.ConditionStatus) *v1alpha1.NamespaceOffloading {
		o := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		o.Status.OffloadingPhase = phase
		conditions.Set(&o.Status.Conditions, generation, conditions.New("Ready", status, string(phase), "because"))
		o.Status.RemoteNamespaceConditions = []v1alpha1.RemoteNamespaceStatus{{Cluster: "eu", Conditions: []metav1.Condition{conditions.New("Ready", status, "NameConflict", "")}}}
		return o
	}
	tests := map[string]struct {
		offloading   *v1alpha1.NamespaceOffloading
		ready, stuck bool
		want         string
	}{
		"nobody has seen it":   {&v1alpha1.NamespaceOffloading{}, false, false, "has not taken it up"},
		"of an earlier spec":   {with(v1alpha1.OffloadingPhaseReady, 1, metav1.ConditionTrue), false, false, "has not taken it up"},
		"ready":                {with(v1alpha1.OffloadingPhaseReady, 2, metav1.ConditionTrue), true, false, ""},
		"on its way":           {with(v1alpha1.OffloadingPhaseInProgress, 2, metav1.ConditionFalse), false, false, "InProgress: because; in eu: NameConflict"},
		"nothing is selected":  {with(v1alpha1.OffloadingPhaseNoClusterSelected, 2, metav1.ConditionFalse), false, true, "NoClusterSelected"},
		"never offloaded":      {with(v1alpha1.OffloadingPhaseRefused, 2, metav1.ConditionFalse), false, true, "Refused"},
		"some are not created": {with(v1alpha1.OffloadingPhaseSomeFailed, 2, metav1.ConditionFalse), false, false, "SomeFailed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ready, waits, stuck := Progress(test.offloading)
			if ready != test.ready || stuck != test.stuck || !strings.Contains(waits, test.want) {
				t.Errorf("got %v, %q, %v", ready, waits, stuck)
			}
		})
	}
}
