package admission

import (
	"encoding/json"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const onlyANumber = "spec.minAvailable must be a number, and spec.maxUnavailable absent"

// budgetOf is a PodDisruptionBudget with that spec.
func budgetOf(meta metav1.ObjectMeta, spec string) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: meta}
	if err := json.Unmarshal([]byte(spec), &budget.Spec); err != nil {
		panic(err)
	}
	return budget
}

// TestConsumerDisruptionBudgets: a consumer may only create a budget that the provider's disruption
// controller can evaluate.
func TestConsumerDisruptionBudgets(t *testing.T) {
	consumer := inProvider(t)
	meta := metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "web", Labels: mark()}
	for name, test := range map[string]struct{ spec, want string }{
		"a number":        {`{"minAvailable":2,"selector":{"matchLabels":{"app":"web"}},"unhealthyPodEvictionPolicy":"AlwaysAllow"}`, ""},
		"nothing":         {`{"minAvailable":0}`, ""},
		"a percentage":    {`{"minAvailable":"50%"}`, onlyANumber},
		"not said":        {`{}`, onlyANumber},
		"how many may go": {`{"maxUnavailable":1}`, onlyANumber},
		"how much may go": {`{"maxUnavailable":"10%"}`, onlyANumber},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), budgetOf(meta, test.spec), client.DryRunAll), test.want)
		})
	}
	foreign := metav1.ObjectMeta{Namespace: namespaceOf(t, nil), Name: "web"}
	refused(t, server(t).Create(t.Context(), budgetOf(foreign, `{"maxUnavailable":1}`), client.DryRunAll), "")
	refused(t, consumer.Status().Patch(t.Context(), budgetOf(meta, `{}`), merge(`{"status":{"disruptionsAllowed":9}}`)), `cannot patch resource "poddisruptionbudgets/status"`)
}

// TestConsumerChangesDisruptionBudgets: a consumer may not make a budget one that the controller cannot
// evaluate. If somebody else did, the consumer may repair or delete it.
func TestConsumerChangesDisruptionBudgets(t *testing.T) {
	consumer := inProvider(t)
	namespace := namespaceOf(t, held(mark()))
	for name, test := range map[string]struct{ spec, patch, want string }{
		"another number":         {`{"minAvailable":1}`, `{"spec":{"minAvailable":2}}`, ""},
		"a percentage":           {`{"minAvailable":1}`, `{"spec":{"minAvailable":"10%"}}`, onlyANumber},
		"how many may go":        {`{"minAvailable":1}`, `{"spec":{"minAvailable":null,"maxUnavailable":1}}`, onlyANumber},
		"what is a percentage":   {`{"minAvailable":"10%"}`, `{"metadata":{"annotations":{"a":"b"}}}`, onlyANumber},
		"to put that right":      {`{"minAvailable":"10%"}`, `{"spec":{"minAvailable":1}}`, ""},
		"to put the other right": {`{"maxUnavailable":1}`, `{"spec":{"minAvailable":1,"maxUnavailable":null}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			there := made(t, budgetOf(metav1.ObjectMeta{Namespace: namespace, GenerateName: "web-", Labels: mark()}, test.spec))
			refused(t, consumer.Patch(t.Context(), there, merge(test.patch)), test.want)
			refused(t, consumer.Delete(t.Context(), there), "")
		})
	}
}
