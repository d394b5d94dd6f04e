package clusterbinding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNewsOf(t *testing.T) {
	type all = []metav1.Condition
	is := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	ready, isolated := is("Ready", "True", "Ready", ""), is("Network", "True", "Isolated", "")
	evicting := is("Drained", "False", "EvictingPods", "2 pods (a/b, a/c): being evicted")
	refused := is("Drained", "False", "EvictionsRefused", "2 pods (a/b, a/c): being evicted; the API server refuses to evict a/b: its budget says no")
	fewer := is("Drained", "False", "EvictionsRefused", "1 pod (a/b): being evicted; the API server refuses to evict a/b: its budget says no")
	for name, test := range map[string]struct {
		before, after all
		want          []event
	}{
		"a new one":         {nil, all{ready, isolated, is("Fenced", "True", "LeaseHeld", "")}, []event{{"Normal", "Ready", "Ready"}}},
		"nothing changed":   {all{ready, isolated}, all{ready, isolated}, nil},
		"what is wrong":     {all{ready}, all{is("Ready", "False", "Unreachable", "no route")}, []event{{"Warning", "Unreachable", "no route"}}},
		"rights":            {all{ready}, all{ready, is("Limited", "True", "RightsMissing", "list pods")}, []event{{"Warning", "RightsMissing", "list pods"}}},
		"and they are back": {all{ready, is("Limited", "True", "RightsMissing", "list pods")}, all{ready}, nil},
		"ranges overlap":    {all{ready, isolated}, all{ready, is("Network", "False", "CIDROverlap", "both")}, []event{{"Warning", "CIDROverlap", "both"}}},
		"others overlap":    {all{is("Network", "False", "CIDROverlap", "both")}, all{is("Network", "False", "CIDROverlap", "others")}, nil},
		"and none does":     {all{is("Network", "False", "CIDROverlap", "both")}, all{is("Network", "True", "Routed", "")}, nil},
		"not checked":       {all{isolated}, all{is("Network", "Unknown", "DuplicateClusterID", "")}, nil},
		"shared":            {all{ready}, all{ready, is("ProviderShared", "True", "ProviderSharedWith", "eu")}, []event{{"Warning", "ProviderSharedWith", "eu"}}},
		"perhaps shared":    {all{ready}, all{ready, is("ProviderShared", "Unknown", "IdentityNotProven", "xx")}, []event{{"Warning", "IdentityNotProven", "xx"}}},
		"without a Lease":   {all{ready}, all{ready, is("Fenced", "False", "LeaseForbidden", "no")}, []event{{"Warning", "LeaseForbidden", "no"}}},
		"which Ready says, too": {all{ready}, all{is("Ready", "False", "HeldByAnother", "x"), is("Fenced", "False", "HeldByAnother", "see the condition Connected")},
			[]event{{"Warning", "HeldByAnother", "x"}}},
		"a step":              {all{is("Drained", "False", "Cordoning", "")}, all{evicting}, []event{{"Normal", "EvictingPods", evicting.Message}}},
		"evictions refused":   {all{evicting}, all{refused}, []event{{"Warning", "EvictionsRefused", refused.Message}}},
		"fewer of them":       {all{refused}, all{fewer}, nil},
		"refused at once":     {nil, all{refused}, []event{{"Warning", "EvictionsRefused", refused.Message}}},
		"and allowed at last": {all{refused}, all{evicting}, []event{{"Normal", "EvictingPods", evicting.Message}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, eventsOf(test.before, test.after)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
