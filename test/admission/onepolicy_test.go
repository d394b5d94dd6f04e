package admission

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// write is what policies select by. marked says whether the object has Spillway's label, before and after the
// write.
type write struct {
	group, resource string
	operation       admissionv1.OperationType
	marked          bool
}

// TestOnePolicyForEachWrite checks the cost of admission. An API server converts the object again for each
// policy and binding that a write matches; match conditions do not avoid that. So each write must match one
// policy of a side, and one binding of it, or it is not restricted at all. Only updates of claims and volumes
// match two policies, because these work without limits. Mutating policies are not counted; the consumer has
// one.
func TestOnePolicyForEachWrite(t *testing.T) {
	for side, files := range map[string]string{"consumer": "config/policy/*.yaml", "provider": "config/provider/policy_*.yaml"} {
		policies, bindings := shippedPolicies(t, files)
		for _, w := range writes(policies) {
			var meets, by []string
			for _, policy := range policies {
				if !w.meets(t, policy.Spec.MatchConstraints) {
					continue
				}
				meets = append(meets, policy.Name)
				for _, binding := range bindings {
					if binding.Spec.PolicyName == policy.Name && w.meets(t, binding.Spec.MatchResources) {
						by = append(by, binding.Name)
					}
				}
			}
			most := 1
			if w.operation == admissionv1.Update && w.marked && strings.HasPrefix(w.resource, "persistentvolume") && side == "provider" {
				most = 2
			}
			if len(meets) > 1 || len(by) == 0 || len(by) > most {
				t.Errorf("in the %s, %+v meets the policies %v, with the bindings %v: want one, with at most %d", side, w, meets, by, most)
			}
		}
	}
}

// TestVariablesOfOneName: policies cannot share expressions. So variables with the same name must have the
// same expression in each policy.
func TestVariablesOfOneName(t *testing.T) {
	const namespaces, volumes = "spillway-consumers", "spillway-consumers-volumes"
	own := map[string][]string{"labels": {namespaces}, "owner": {namespaces, volumes}} // Cluster-scoped objects have only their own labels.
	first, in := map[string]string{}, map[string]string{}
	policies, _ := shippedPolicies(t, "config/provider/policy_*.yaml")
	for _, policy := range policies {
		for _, v := range policy.Spec.Variables {
			if slices.Contains(own[v.Name], policy.Name) {
				continue
			}
			if _, is := first[v.Name]; !is {
				first[v.Name], in[v.Name] = v.Expression, policy.Name
			}
			if diff := cmp.Diff(first[v.Name], v.Expression); diff != "" {
				t.Errorf("%s (-in %s +in %s):\n%s", v.Name, in[v.Name], policy.Name, diff)
			}
		}
	}
}

// shippedPolicies reads policies and their bindings from files.
func shippedPolicies(t *testing.T, pattern string) (policies []*admissionv1.ValidatingAdmissionPolicy, bindings []*admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		objects, err := read(filepath.Join(filepath.Dir(pattern), filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
			switch object.GetKind() {
			case "ValidatingAdmissionPolicy":
				err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, policy)
				policies = append(policies, policy)
			case "ValidatingAdmissionPolicyBinding":
				err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, binding)
				bindings = append(bindings, binding)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return policies, bindings
}

// writes returns all writes that any policy names. A policy with a wildcard matches the writes of the other
// policies.
func writes(policies []*admissionv1.ValidatingAdmissionPolicy) []write {
	var all []write
	for _, policy := range policies {
		for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, operation := range []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete} {
						if slices.Contains(rule.Operations, operation) || slices.Contains(rule.Operations, admissionv1.OperationAll) {
							all = append(all, write{group, resource, operation, false}, write{group, resource, operation, true})
						}
					}
				}
			}
		}
	}
	return all
}

// meets reports whether a policy or binding selects the write. A binding without rules selects all writes of
// its policy. The check assumes that a namespace selector selects all namespaces.
func (w write) meets(t *testing.T, by *admissionv1.MatchResources) bool {
	t.Helper()
	if by == nil {
		return true
	}
	object := k8slabels.Set{}
	if w.marked {
		object[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBySpillway
	}
	if by.ObjectSelector != nil {
		if selector, err := metav1.LabelSelectorAsSelector(by.ObjectSelector); err != nil || !selector.Matches(object) {
			return false
		}
	}
	main, sub, _ := strings.Cut(w.resource, "/")
	return len(by.ResourceRules) == 0 || slices.ContainsFunc(by.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		of := func(all []string, names ...string) bool {
			return slices.ContainsFunc(all, func(one string) bool { return slices.Contains(names, one) })
		}
		resources := []string{w.resource, "*/*", main + "/*", "*/" + sub}
		if sub == "" {
			resources = []string{main, "*", "*/*", main + "/*"}
		}
		return of(rule.APIGroups, w.group, "*") && of(rule.Resources, resources...) &&
			(slices.Contains(rule.Operations, w.operation) || slices.Contains(rule.Operations, admissionv1.OperationAll))
	})
}
