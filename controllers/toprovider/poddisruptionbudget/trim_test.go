package poddisruptionbudget

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/field"
)

// TestHeldBudgets tests a budget's selector, which the API server does not limit either.
func TestHeldBudgets(t *testing.T) {
	kind := Kind()
	selector := func(key string, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Values: values}}}
	}
	for name, test := range map[string]struct {
		in  *metav1.LabelSelector
		cut bool
	}{
		"none":          {nil, false},
		"what is sent":  {selector("a", "b"), false},
		"many values":   {selector("a", make([]string, 2000)...), true},
		"a long key":    {selector(strings.Repeat("x", field.MostMetadata)), true},
		"a long label":  {&metav1.LabelSelector{MatchLabels: map[string]string{"a": strings.Repeat("x", field.MostMetadata)}}, true},
		"several words": {selector("a", "b", "c"), false},
	} {
		budget := &policyv1.PodDisruptionBudget{
			Spec:   policyv1.PodDisruptionBudgetSpec{Selector: test.in},
			Status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1, DisruptedPods: map[string]metav1.Time{"web": {}}},
		}
		for range 2 {
			got := views.Trim(budget, kind.TrimAny).(*policyv1.PodDisruptionBudget)
			if cut := got.Spec.Selector == nil && test.in != nil; cut != test.cut || len(got.Status.DisruptedPods) > 0 || got.Status.DesiredHealthy != 1 {
				t.Errorf("%s: held %v", name, got)
			}
			refusal := field.MetadataTooLarge(got, nil)
			if (refusal != nil) != test.cut || test.cut && !strings.HasPrefix(refusal.Message, "its labels, annotations and selector take") {
				t.Errorf("%s: it is refused: %v", name, refusal)
			}
		}
	}
}
