package admission

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// TestBrokenExpression makes the policy fail on every pod.
func TestBrokenExpression(t *testing.T) {
	needsPolicy(t)
	namespace := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsLocalAndRemote})
	t.Cleanup(func() {
		reshape(t)
		settled(t, server(t), true, namespace)
	})
	reshape(t, func(object *unstructured.Unstructured) {
		variables, found, err := unstructured.NestedSlice(object.Object, "spec", "variables")
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			return
		}
		variables[0].(map[string]any)["expression"] = "params.spec.there.is.no.such.field"
		if err := unstructured.SetNestedSlice(object.Object, variables, "spec", "variables"); err != nil {
			t.Fatal(err)
		}
	})
	settled(t, server(t), false, namespace)
}

// another is a foreign policy. It replaces the affinity of pods once, before or after Spillway's policy.
func another(namespace string) []client.Object {
	always := admissionregistrationv1.Fail
	return []client.Object{
		&admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "another"},
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				FailurePolicy:      &always,
				ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
				MatchConstraints: &admissionregistrationv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
					},
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
						RuleWithOperations: admissionregistrationv1.RuleWithOperations{
							Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
							Rule: admissionregistrationv1.Rule{
								APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"},
							},
						},
					}},
				},
				Mutations: []admissionregistrationv1.Mutation{{
					PatchType: admissionregistrationv1.PatchTypeJSONPatch,
					JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[
						JSONPatch{op: "add", path: "/metadata/annotations", value: {"another": "was-here"}},
						JSONPatch{op: "add", path: "/spec/affinity", value: {"nodeAffinity": {
							"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
								{"matchExpressions": [{"key": dyn("arch"), "operator": dyn("In"), "values": dyn(["amd64"])}]}]}}}}]`},
				}},
			},
		},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "another"},
			Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "another"},
		},
	}
}

// TestOtherPolicies: another policy reverts what Spillway's policy did.
func TestOtherPolicies(t *testing.T) {
	needsPolicy(t)
	namespace := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	for _, object := range another(namespace) {
		temporary(t, object)
	}
	var pod *corev1.Pod
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		pod = newPod(namespace)
		err := server(t).Create(ctx, pod, client.DryRunAll)
		return pod.Annotations["another"] != "", err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(required(labels(amd, virtual)), pod.Spec.Affinity); diff != "" {
		t.Errorf("affinity (-want +got):\n%s", diff)
	}
}

// TestTurnedOff tests an API server that does not serve the policy's kind.
func TestTurnedOff(t *testing.T) {
	policy, err := read(podsPolicy)
	if err != nil {
		t.Fatal(err)
	}
	if err := manifests.Create(t.Context(), spare(t), policy); !meta.IsNoMatchError(err) {
		t.Errorf("applying the policy: %v, want that there is no such kind", err)
	}
	temporaryIn(t, spare(t), newPod(metav1.NamespaceDefault))
}
