package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestClassesOfPods: a remote pod has the provider's names of classes. A pod is sent without its
// PriorityClass.
func TestClassesOfPods(t *testing.T) {
	for name, test := range map[string]struct {
		spec, want string
	}{
		"none":                          {`{}`, `{}`},
		"both mapped":                   {`{priorityClassName: x, runtimeClassName: x}`, `{priorityClassName: batch, runtimeClassName: gvisor}`},
		"the same name there":           {`{runtimeClassName: kata}`, `{runtimeClassName: kata}`},
		"PriorityClass not mapped":      {`{priorityClassName: high, priority: 7}`, `{}`},
		"of the name of a RuntimeClass": {`{priorityClassName: kata}`, `{}`},
		"RuntimeClass without a name":   {`{runtimeClassName: ""}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, `{spec: {containers: [{name: web, image: i}]}}`)
			fieldtest.Merged(t, &local.Spec, test.spec)
			remote := ToRemote(local, fieldtest.Mapped, fieldtest.Generous, fieldtest.Classes)
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
