package eviction

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: name}
}

func TestSummarise(t *testing.T) {
	var seven []types.NamespacedName
	refused, alike := map[types.NamespacedName]string{}, map[types.NamespacedName]string{}
	for i := range 7 {
		key := named(fmt.Sprint(6 - i))
		seven, refused[key], alike[key] = append(seven, key), fmt.Sprint("no ", i), "no"
	}
	tests := map[string]struct {
		pods     []types.NamespacedName
		refused  map[types.NamespacedName]string
		want     Remaining
		text     string
		refusals string
	}{
		"none": {nil, nil, Remaining{}, "0 pods", ""},
		"one":  {[]types.NamespacedName{named("a")}, nil, Remaining{Count: 1, Names: []string{"team/a"}}, "1 pod (team/a)", ""},
		"in order, whatever the order": {
			[]types.NamespacedName{named("b"), named("a")}, map[types.NamespacedName]string{named("b"): "its budget says no", named("gone"): "no"},
			Remaining{Count: 2, Names: []string{"team/a", "team/b"}, Refused: []string{"team/b: its budget says no"}},
			"2 pods (team/a, team/b)", "the API server refuses to evict team/b: its budget says no"},
		"of many, the first": {
			seven, refused,
			Remaining{Count: 7, Names: []string{"team/0", "team/1", "team/2", "team/3", "team/4"}, Refused: []string{"team/0: no 6", "team/1: no 5", "team/2: no 4"}},
			"7 pods (team/0, team/1, team/2, team/3, team/4, and 2 more)",
			"the API server refuses to evict team/0: no 6; team/1: no 5; team/2: no 4"},
		"with the same answer": {
			seven, alike,
			Remaining{Count: 7, Names: []string{"team/0", "team/1", "team/2", "team/3", "team/4"}, Refused: []string{"team/0, team/1, team/2, team/3, team/4, and 2 more: no"}},
			"7 pods (team/0, team/1, team/2, team/3, team/4, and 2 more)",
			"the API server refuses to evict team/0, team/1, team/2, team/3, team/4, and 2 more: no"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Summarise(test.pods, test.refused)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.String() != test.text || got.Refusals() != test.refusals {
				t.Errorf("it says %q and %q, want %q and %q", got, got.Refusals(), test.text, test.refusals)
			}
		})
	}
}
