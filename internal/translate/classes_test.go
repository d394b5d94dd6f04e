package translate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// classes map x, which is the value of filled fields.
var classes = Classes{
	{Kind: v1alpha1.ClassPriority, Name: "x", RemoteName: "batch"},
	{Kind: v1alpha1.ClassRuntime, Name: "x", RemoteName: "gvisor"},
	{Kind: v1alpha1.ClassRuntime, Name: "kata", RemoteName: "kata"},
	{Kind: v1alpha1.ClassLoadBalancer, Name: "x", RemoteName: "nlb"},
	{Kind: v1alpha1.ClassLoadBalancer, Name: "any"},
}

// balancing allows the load balancers of classes.
var balancing = &Limits{LoadBalancerClasses: []string{"nlb", "default"}}

// TestClassesOfPods: a remote pod has the provider's names of classes. A pod is sent without its
// PriorityClass, but not without its RuntimeClass.
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
				if refusal == nil || refusal.Reason != "ClassNotMapped" || !strings.Contains(refusal.Message, `spec.runtimeClassName: the ClusterBinding does not map RuntimeClass "runsc"`) {
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

// TestClassesThatAreNotThere: a pod waits until the provider has each of its classes. It is sent if
// nobody can tell.
func TestClassesThatAreNotThere(t *testing.T) {
	const missing, unread = v1alpha1.ReasonClassMissing, v1alpha1.ReasonReferenceNotSynced
	for name, test := range map[string]struct {
		spec             string
		runtime, batch   Presence
		reason, contains string
	}{
		"both there":               {`{priorityClassName: x, runtimeClassName: x}`, ClassThere, ClassThere, "", ""},
		"nobody can tell":          {`{priorityClassName: x, runtimeClassName: x}`, ClassUnknown, ClassUnknown, "", ""},
		"no RuntimeClass":          {`{priorityClassName: x, runtimeClassName: x}`, ClassMissing, ClassThere, missing, `spec.runtimeClassName: the provider has no RuntimeClass "gvisor"`},
		"no PriorityClass":         {`{priorityClassName: x, runtimeClassName: x}`, ClassThere, ClassMissing, missing, `spec.priorityClassName: the provider has no PriorityClass "batch"`},
		"not known yet":            {`{priorityClassName: x}`, ClassThere, ClassUnread, unread, `it is not known yet whether the provider has the PriorityClass "batch"`},
		"it names none of them":    {`{}`, ClassMissing, ClassMissing, "", ""},
		"one that is not mapped":   {`{priorityClassName: high}`, ClassMissing, ClassMissing, "", ""},
		"not mapped, to be missed": {`{runtimeClassName: runsc}`, ClassMissing, ClassMissing, v1alpha1.ReasonClassNotMapped, "spec.runtimeClassName"},
	} {
		t.Run(name, func(t *testing.T) {
			local := podOf(t, `{spec: {containers: [{name: web, image: i}]}}`)
			merged(t, &local.Spec, test.spec)
			has := func(kind v1alpha1.ClassKind, name string) Presence {
				return map[string]Presence{"RuntimeClass gvisor": test.runtime, "PriorityClass batch": test.batch}[string(kind)+" "+name]
			}
			got := ClassRefusal(local, classes, has)
			if got == nil {
				got = &field.Problem{}
			}
			if got.Reason != test.reason || !strings.Contains(got.Message, test.contains) {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestIngressClassesThatAreNotThere: an Ingress waits until the provider has its class.
func TestIngressClassesThatAreNotThere(t *testing.T) {
	const missing = "ClassMissing: spec.ingressClassName: the provider has no IngressClass \"eu-public\", to which spec.classes of the ClusterBinding maps it; "
	for name, test := range map[string]struct {
		class string
		has   Presence
		want  string // The beginning of the refusal.
	}{
		"there":           {"public", ClassThere, ""},
		"nobody can tell": {"public", ClassUnknown, ""},
		"missing":         {"public", ClassMissing, missing},
		"not known yet":   {"public", ClassUnread, "ReferenceNotSynced: spec.ingressClassName"},
		"not mapped":      {"nginx", ClassMissing, ""},
	} {
		local := ingressOf(t, `{ingressClassName: `+test.class+`}`)
		got := ""
		if refusal := IngressClassRefusal(local, euClasses, func(kind v1alpha1.ClassKind, name string) Presence {
			if kind != v1alpha1.ClassIngress || name != "eu-public" {
				t.Errorf("%s: asked for %s %s", name, kind, name)
			}
			return test.has
		}); refusal != nil {
			got = refusal.Reason + ": " + refusal.Message
		}
		if !strings.HasPrefix(got, test.want) || got != "" && test.want == "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
