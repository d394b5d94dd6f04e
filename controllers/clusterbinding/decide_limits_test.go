package clusterbinding

import (
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

func TestLimits(t *testing.T) {
	known := func(reason, message string) snapshot {
		return up(func(s *snapshot) { s.Connection.Limits = connection.Limits{Reason: reason, Message: message} })
	}
	missing := known(v1alpha1.ReasonLimitsMissing, "there are none")
	for name, test := range map[string]struct {
		snapshot snapshot
		want     []string // LimitsKnown, Ready.
	}{
		"nothing is known yet": {up(func(*snapshot) {}), []string{"Ready=True Ready: "}},
		"they are read":        {known(v1alpha1.ReasonLimitsRead, ""), []string{"LimitsKnown=True LimitsRead: ", "Ready=True Ready: "}},
		"they are missing":     {missing, []string{"LimitsKnown=False LimitsMissing: there are none", "Ready=False LimitsMissing: there are none"}},
		"the provider is away: the last verdict": {up(func(s *snapshot) {
			s.Binding.Status, s.Connection = Decide(missing), lost(v1alpha1.ReasonUnreachable, "why")
		}), []string{"LimitsKnown=False LimitsMissing: there are none", "Ready=False Unreachable: why"}},
	} {
		t.Run(name, func(t *testing.T) {
			expectConditions(t, Decide(test.snapshot), test.want, v1alpha1.BindingLimitsKnown, v1alpha1.BindingReady)
		})
	}
}
