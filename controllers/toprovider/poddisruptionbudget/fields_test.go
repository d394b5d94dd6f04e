package poddisruptionbudget

import (
	"reflect"
	"testing"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestDisruptionbudgetFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"PodDisruptionBudgetSpec": {Kind: reflect.TypeFor[policyv1.PodDisruptionBudgetSpec](), Fields: disruptionBudgetSpecFields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *policyv1.PodDisruptionBudget {
			t.Helper()
			return budgetOf(t, `{status: {desiredHealthy: 1}}`)
		}, func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudgetSpec { return &b.Spec }, func(local *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, *field.Problem) {
			return toRemote(local, fieldtest.Mapped, fieldtest.Generous, 0)
		}, fieldtest.InPlace(merge))},
	})
}
