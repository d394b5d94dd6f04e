package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestSends: no list is the default one, and an empty list is none.
func TestSends(t *testing.T) {
	for text, want := range map[string][2]bool{
		`{}`: {true, true}, `{"resources":[]}`: {false, false}, `{"resources":["Services"]}`: {true, false},
		`{"resources":["NetworkPolicies"]}`: {false, true}, `{"resources":["Others"]}`: {false, false},
	} {
		var spec v1alpha1.NamespaceOffloadingSpec
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{spec.Sends(v1alpha1.OffloadedServices), spec.Sends(v1alpha1.OffloadedNetworkPolicies)}; got != want {
			t.Errorf("%s: sends Services and NetworkPolicies: %t", text, got)
		}
		again, err := json.Marshal(*spec.DeepCopy())
		if err != nil || string(again) != text {
			t.Errorf("%s is written as %s, %v", text, again, err)
		}
	}
}
