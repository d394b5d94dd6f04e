package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestSends checks that an unset list means the default, without PodDisruptionBudgets, and that an
// empty list sends nothing.
func TestSends(t *testing.T) {
	for text, want := range map[string][3]bool{
		`{}`: {true, true, false}, `{"resources":[]}`: {}, `{"resources":["Services"]}`: {true, false, false},
		`{"resources":["NetworkPolicies"]}`: {false, true, false}, `{"resources":["PodDisruptionBudgets"]}`: {false, false, true}, `{"resources":["Others"]}`: {},
	} {
		var spec v1alpha1.NamespaceOffloadingSpec
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		got := [3]bool{spec.Sends(v1alpha1.OffloadedServices), spec.Sends(v1alpha1.OffloadedNetworkPolicies), spec.Sends(v1alpha1.OffloadedPodDisruptionBudgets)}
		if got != want {
			t.Errorf("%s: sends Services, NetworkPolicies and PodDisruptionBudgets: %t", text, got)
		}
		again, err := json.Marshal(*spec.DeepCopy())
		if err != nil || string(again) != text {
			t.Errorf("%s is written as %s, %v", text, again, err)
		}
	}
}
