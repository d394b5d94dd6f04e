package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

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
			local := fieldtest.PodOf(t, `{spec: {containers: [{name: web, image: i}]}}`)
			fieldtest.Merged(t, &local.Spec, test.spec)
			remote, refusal := ToRemote(local, fieldtest.Mapped, fieldtest.Generous, fieldtest.Classes)
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
			fieldtest.Merged(t, want, test.want)
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
		runtime, batch   field.Presence
		reason, contains string
	}{
		"both there":               {`{priorityClassName: x, runtimeClassName: x}`, field.ClassThere, field.ClassThere, "", ""},
		"nobody can tell":          {`{priorityClassName: x, runtimeClassName: x}`, field.ClassUnknown, field.ClassUnknown, "", ""},
		"no RuntimeClass":          {`{priorityClassName: x, runtimeClassName: x}`, field.ClassMissing, field.ClassThere, missing, `spec.runtimeClassName: the provider has no RuntimeClass "gvisor"`},
		"no PriorityClass":         {`{priorityClassName: x, runtimeClassName: x}`, field.ClassThere, field.ClassMissing, missing, `spec.priorityClassName: the provider has no PriorityClass "batch"`},
		"not known yet":            {`{priorityClassName: x}`, field.ClassThere, field.ClassUnread, unread, `it is not known yet whether the provider has the PriorityClass "batch"`},
		"it names none of them":    {`{}`, field.ClassMissing, field.ClassMissing, "", ""},
		"one that is not mapped":   {`{priorityClassName: high}`, field.ClassMissing, field.ClassMissing, "", ""},
		"not mapped, to be missed": {`{runtimeClassName: runsc}`, field.ClassMissing, field.ClassMissing, v1alpha1.ReasonClassNotMapped, "spec.runtimeClassName"},
	} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, `{spec: {containers: [{name: web, image: i}]}}`)
			fieldtest.Merged(t, &local.Spec, test.spec)
			has := func(kind v1alpha1.ClassKind, name string) field.Presence {
				return map[string]field.Presence{"RuntimeClass gvisor": test.runtime, "PriorityClass batch": test.batch}[string(kind)+" "+name]
			}
			got := classRefusal(local, fieldtest.Classes, has)
			if got == nil {
				got = &field.Problem{}
			}
			if got.Reason != test.reason || !strings.Contains(got.Message, test.contains) {
				t.Errorf("got %v", got)
			}
		})
	}
}
