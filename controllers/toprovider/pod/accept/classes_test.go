package accept

import (
	"strings"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestClassesThatAreNotThere: a pod waits until the provider has each of its classes. It is sent if
// nobody can tell.
func TestClassesThatAreNotThere(t *testing.T) {
	const missing, unread = v1alpha1.ReasonClassMissing, v1alpha1.ReasonReferenceNotSynced
	for name, test := range map[string]struct {
		spec             string
		runtime, batch   field.Presence
		reason, contains string
	}{
		"both there":                {`{priorityClassName: x, runtimeClassName: x}`, field.ClassThere, field.ClassThere, "", ""},
		"nobody can tell":           {`{priorityClassName: x, runtimeClassName: x}`, field.ClassUnknown, field.ClassUnknown, "", ""},
		"no RuntimeClass":           {`{priorityClassName: x, runtimeClassName: x}`, field.ClassMissing, field.ClassThere, missing, `spec.runtimeClassName: the provider has no RuntimeClass "gvisor"`},
		"no PriorityClass":          {`{priorityClassName: x, runtimeClassName: x}`, field.ClassThere, field.ClassMissing, missing, `spec.priorityClassName: the provider has no PriorityClass "batch"`},
		"not known yet":             {`{priorityClassName: x}`, field.ClassThere, field.ClassUnread, unread, `it is not known yet whether the provider has the PriorityClass "batch"`},
		"it names none of them":     {`{}`, field.ClassMissing, field.ClassMissing, "", ""},
		"one that is not mapped":    {`{priorityClassName: high}`, field.ClassMissing, field.ClassMissing, "", ""},
		"RuntimeClass with no name": {`{runtimeClassName: ""}`, field.ClassMissing, field.ClassMissing, "", ""},
		"not mapped, to be missed":  {`{runtimeClassName: runsc}`, field.ClassMissing, field.ClassMissing, v1alpha1.ReasonClassNotMapped, "spec.runtimeClassName"},
	} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, `{spec: {containers: [{name: web, image: i}]}}`)
			fieldtest.Merged(t, &local.Spec, test.spec)
			has := func(kind v1alpha1.ClassKind, name string) field.Presence {
				return map[string]field.Presence{"RuntimeClass gvisor": test.runtime, "PriorityClass batch": test.batch}[string(kind)+" "+name]
			}
			got := Refusal(local, Provider{Limits: fieldtest.Generous, Classes: fieldtest.Classes, Has: has})
			if got == nil {
				got = &field.Problem{}
			}
			if got.Reason != test.reason || !strings.Contains(got.Message, test.contains) {
				t.Errorf("got %v", got)
			}
		})
	}
}
