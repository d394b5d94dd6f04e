package clusterbinding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/translate"
)

// TestImports checks that the status lists the imported classes, and keeps them until the provider says
// otherwise.
func TestImports(t *testing.T) {
	const kind, name = v1alpha1.ClassRuntime, "gvisor"
	imported := func(s *Snapshot) {
		mapping(string(kind) + " " + name)(s)
		s.Binding.Spec.Classes[0].Import = true
	}
	with := func(class connection.Class) func(*Snapshot) {
		class.Name, class.Presence = name, translate.ClassThere
		return func(s *Snapshot) { s.Connection.Classes = &connection.Classes{class} }
	}
	costing := func(cpu, memory string) func(*Snapshot) {
		return with(connection.Class{Kind: kind, Overhead: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceEphemeralStorage: resource.MustParse("1"),
		}})
	}
	note := func(cpu, memory string) []v1alpha1.ClassStatus {
		status := v1alpha1.ClassStatus{Kind: kind, RemoteName: name}
		if cpu != "" {
			status.PodOverhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
		}
		return []v1alpha1.ClassStatus{status}
	}
	noted := func(s *Snapshot) { s.Binding.Status.Classes = note("1", "2Gi") }
	plain, missing := with(connection.Class{Kind: kind}), having(translate.ClassMissing, string(kind)+" "+name)
	valued := func(s *Snapshot) {
		imported(s)
		s.Binding.Spec.Classes[0].Kind = v1alpha1.ClassPriority
		with(connection.Class{Kind: v1alpha1.ClassPriority, Value: 7})(s)
	}
	for name, test := range map[string]struct {
		changes []func(*Snapshot)
		want    []v1alpha1.ClassStatus
		reason  string // The reason of ClassesReady.
	}{
		"there":                    {[]func(*Snapshot){imported, plain}, note("", ""), "ClassesThere"},
		"with an overhead":         {[]func(*Snapshot){imported, costing("4", "16Gi")}, note("4", "16Gi"), "ClassesThere"},
		"with too much of one":     {[]func(*Snapshot){imported, noted, costing("4001m", "1Gi")}, nil, "ClassRefused"},
		"with too much memory":     {[]func(*Snapshot){imported, costing("1", "17Gi")}, nil, "ClassRefused"},
		"with less than nothing":   {[]func(*Snapshot){imported, costing("-1", "0")}, nil, "ClassRefused"},
		"mapped, and not imported": {[]func(*Snapshot){mapping("RuntimeClass gvisor"), noted, costing("5", "1Gi")}, nil, "ClassesThere"},
		"a PriorityClass":          {[]func(*Snapshot){valued}, []v1alpha1.ClassStatus{{Kind: v1alpha1.ClassPriority, RemoteName: "gvisor", Value: ptr.To[int32](7)}}, "ClassesThere"},
		"missing":                  {[]func(*Snapshot){imported, noted, missing}, nil, "ClassMissing"},
		"not known yet":            {[]func(*Snapshot){imported, noted}, note("1", "2Gi"), ""},
		"hidden":                   {[]func(*Snapshot){imported, noted, having(translate.ClassUnknown, "RuntimeClass gvisor")}, note("1", "2Gi"), "ClassUnreadable"},
		"away":                     {[]func(*Snapshot){imported, noted, missing, func(s *Snapshot) { s.Connection.Phase = connection.Disconnected }}, note("1", "2Gi"), ""},
		"not imported any more":    {[]func(*Snapshot){noted}, nil, ""},
		"twice, under two names":   {[]func(*Snapshot){imported, plain, func(s *Snapshot) { s.Binding.Spec.Classes = append(s.Binding.Spec.Classes, s.Binding.Spec.Classes...) }}, note("", ""), "ClassesThere"},
	} {
		t.Run(name, func(t *testing.T) {
			status := Decide(up(all(test.changes...)))
			if diff := cmp.Diff(test.want, status.Classes); diff != "" {
				t.Error(diff)
			}
			reason := ""
			if c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingClassesReady); c != nil {
				reason = c.Reason
			}
			if reason != test.reason {
				t.Errorf("ClassesReady says %q, want %q", reason, test.reason)
			}
		})
	}
}
