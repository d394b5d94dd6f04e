package translate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// classes map x, which filled fields have as their value.
var classes = Classes{
	{Kind: v1alpha1.ClassPriority, Name: "x", RemoteName: "batch"},
	{Kind: v1alpha1.ClassRuntime, Name: "x", RemoteName: "gvisor"},
	{Kind: v1alpha1.ClassRuntime, Name: "kata", RemoteName: "kata"},
	{Kind: v1alpha1.ClassLoadBalancer, Name: "x", RemoteName: "nlb"},
	{Kind: v1alpha1.ClassLoadBalancer, Name: "any"},
}

// balancing are limits that allow the load balancers of classes.
var balancing = &Limits{LoadBalancerClasses: []string{"nlb", "default"}}

// TestClassesOfPods: a pod has the names of the provider there. Without a PriorityClass it
// goes, and without its RuntimeClass it stays here.
func TestClassesOfPods(t *testing.T) {
	for name, test := range map[string]struct {
		spec, want string
		refused    bool
	}{
		"none":                          {`{}`, `{}`, false},
		"both mapped":                   {`{priorityClassName: x, runtimeClassName: x}`, `{priorityClassName: batch, runtimeClassName: gvisor}`, false},
		"the same name there":           {`{runtimeClassName: kata}`, `{runtimeClassName: kata}`, false},
		"PriorityClass not mapped":      {`{priorityClassName: high, priority: 7}`, `{}`, false},
		"of the name of a RuntimeClass": {`{priorityClassName: kata}`, `{}`, false},
		"RuntimeClass not mapped":       {`{runtimeClassName: runsc}`, ``, true},
		"RuntimeClass without a name":   {`{runtimeClassName: ""}`, `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			local := podOf(t, `{spec: {containers: [{name: web, image: i}]}}`)
			merged(t, &local.Spec, test.spec)
			remote, refusal := Pod(local, mapped, generous, classes)
			if test.refused {
				if refusal == nil || refusal.Reason != "ClassNotMapped" || !strings.Contains(refusal.Message, `spec.runtimeClassName: the ClusterBinding maps RuntimeClass "runsc" to none`) {
					t.Errorf("got %v", refusal)
				}
				return
			}
			if refusal != nil {
				t.Fatal(refusal)
			}
			want := remote.Spec.DeepCopy()
			want.PriorityClassName, want.RuntimeClassName = "", nil
			merged(t, want, test.want)
			if diff := cmp.Diff(want, &remote.Spec); diff != "" {
				t.Error(diff)
			}
			if len(local.Spec.Containers) != 1 || local.Spec.Priority != nil && *local.Spec.Priority != 7 {
				t.Error("the local pod was changed")
			}
		})
	}
}
