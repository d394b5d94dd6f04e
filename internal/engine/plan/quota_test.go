package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
)

// full is a quota that may have no room.
type full struct {
	none                        bool
	asked, withdrawn, forgotten int
}

func (f *full) Ask(client.Object) *field.Problem {
	if f.asked++; f.none {
		return &field.Problem{Reason: "QuotaExceeded"}
	}
	return nil
}

func (f *full) Forget(types.NamespacedName) { f.forgotten++ }

func (f *full) Withdraw(client.Object) { f.withdrawn++ }

// TestWithinQuota: only an object that is about to be created asks. One that is not gives its room back, unless it may be
// in the provider.
func TestWithinQuota(t *testing.T) {
	create := decide.Plan{Actions: []decide.Action{{Verb: decide.Create, Side: decide.Remote}}}
	unanswered := fixture.Observed(fixture.Local(), nil)
	unanswered.Unanswered = true
	for name, test := range map[string]struct {
		quota            full
		s                fixture.ObjectState
		plan             decide.Plan
		asked, withdrawn int
		want             string
	}{
		"room":                {s: fixture.Observed(fixture.Local(), nil), plan: create, asked: 1},
		"none":                {quota: full{none: true}, s: fixture.Observed(fixture.Local(), nil), plan: create, asked: 1, want: "QuotaExceeded"},
		"it waits":            {s: fixture.Observed(fixture.Local(), nil), withdrawn: 1},
		"it may be there":     {s: unanswered},
		"it is there":         {s: fixture.Observed(fixture.Local(), fixture.Remote())},
		"it is not here":      {s: fixture.Observed(nil, fixture.Remote())},
		"it is protected yet": {s: fixture.Observed(fixture.Local(), nil), plan: decide.Plan{Actions: []decide.Action{{Verb: decide.Patch, Side: decide.Local}}}, withdrawn: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := planner()
			p.Quota = &test.quota
			got, reason := (&planning[*corev1.ConfigMap]{Planner: p, s: test.s}).withinQuota(test.plan), ""
			if got.Problem != nil {
				reason = got.Problem.Reason
			}
			if reason != test.want || test.quota.asked != test.asked || test.quota.withdrawn != test.withdrawn || reason != "" && len(got.Actions) > 0 ||
				(test.quota.forgotten > 0) != (test.s.Local == nil) {
				t.Errorf("%+v, after %+v", got, test.quota)
			}
		})
	}
}
