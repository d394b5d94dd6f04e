package clusterbinding

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/definitions"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

func TestVersionSkew(t *testing.T) {
	said := Decide(up(func(s *snapshot) { s.Skew = &definitions.Skew{Missing: "ClusterBinding.status.holder"} }))
	for name, test := range map[string]struct {
		skew *definitions.Skew
		want string
	}{
		"not known yet: the last verdict stays": {nil, v1alpha1.ReasonDefinitionsOlder},
		"the same":                              {&definitions.Skew{}, ""},
		"older":                                 {&definitions.Skew{Missing: "a"}, v1alpha1.ReasonDefinitionsOlder},
		"newer":                                 {&definitions.Skew{Further: "a"}, v1alpha1.ReasonDefinitionsNewer},
		"both":                                  {&definitions.Skew{Missing: "a", Further: "b"}, v1alpha1.ReasonDefinitionsOlder},
	} {
		t.Run(name, func(t *testing.T) {
			status, got := Decide(up(func(s *snapshot) { s.Binding.Status, s.Skew = said, test.skew })), ""
			if c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingVersionSkew); c != nil {
				got = c.Reason
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.BindingReady) {
				t.Error("it is not Ready any more")
			}
		})
	}
}

// TestALostIdentity checks that the identity is recorded again once the API server keeps it, and that a
// recorded identity stays.
func TestALostIdentity(t *testing.T) {
	for name, test := range map[string]struct{ before, want v1alpha1.HolderStatus }{
		"lost":             {v1alpha1.HolderStatus{Generation: 3}, v1alpha1.HolderStatus{Generation: 3, Identity: "us"}},
		"of somebody else": {v1alpha1.HolderStatus{Generation: 3, Identity: "them"}, v1alpha1.HolderStatus{Generation: 3, Identity: "them"}},
		"older":            {v1alpha1.HolderStatus{Generation: 2, Identity: "them"}, v1alpha1.HolderStatus{Generation: 3, Identity: "us"}},
		"younger":          {v1alpha1.HolderStatus{Generation: 4}, v1alpha1.HolderStatus{Generation: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(up(func(s *snapshot) {
				s.Binding.Status.Holder = test.before
				s.Connection = connection.State{Phase: connection.Connecting, Holder: v1alpha1.HolderStatus{Generation: 3, Identity: "us"}}
			})).Holder
			if !equality.Semantic.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
