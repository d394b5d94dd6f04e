package clusterbinding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// TestImports checks that the status lists the imported classes, and keeps them until the provider says
// otherwise.
func TestImports(t *testing.T) {
	const kind, name = v1alpha1.ClassRuntime, "gvisor"
	imported := func(s *snapshot) {
		mapping(string(kind) + " " + name)(s)
		s.Binding.Spec.Classes[0].Import = true
	}
	with := func(class connection.Class) func(*snapshot) {
		class.Name, class.Presence = name, field.ClassThere
		return func(s *snapshot) { s.Connection.Classes = &connection.Classes{class} }
	}
	costing := func(cpu, memory string) func(*snapshot) {
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
	noted := func(s *snapshot) { s.Binding.Status.Classes = note("1", "2Gi") }
	plain, missing := with(connection.Class{Kind: kind}), having(field.ClassMissing, string(kind)+" "+name)
	valued := func(s *snapshot) {
		imported(s)
		s.Binding.Spec.Classes[0].Kind = v1alpha1.ClassPriority
		with(connection.Class{Kind: v1alpha1.ClassPriority, Value: 7})(s)
	}
	stored := func(s *snapshot) {
		imported(s)
		s.Binding.Spec.Classes[0].Kind = v1alpha1.ClassStorage
		with(connection.Class{Kind: v1alpha1.ClassStorage, Storage: field.Storage{Reclaim: "Retain", Binding: "Immediate", Expands: true, Provisioner: "csi.example.com"}})(s)
	}
	storedStatus := func(room string) v1alpha1.ClassStatus {
		status := v1alpha1.ClassStatus{Kind: v1alpha1.ClassStorage, RemoteName: "gvisor", ReclaimPolicy: "Retain", VolumeBindingMode: "Immediate", AllowVolumeExpansion: true}
		if room != "" {
			status.Capacity, status.MaximumVolumeSize = ptr.To(resource.MustParse(room)), ptr.To(resource.MustParse("1Gi"))
		}
		return status
	}
	measured := func(s *snapshot) { s.Binding.Spec.Import.CSI = true }
	having5 := func(s *snapshot) {
		s.Connection.Room = &connection.Room{Drivers: []string{"csi.example.com"}, Classes: map[string]connection.Space{"gvisor": {Total: 5 << 30, Largest: 1 << 30}}}
	}
	for name, test := range map[string]struct {
		changes []func(*snapshot)
		want    []v1alpha1.ClassStatus
		reason  string // The reason of ClassesReady.
	}{
		"there":                    {[]func(*snapshot){imported, plain}, note("", ""), "ClassesThere"},
		"with an overhead":         {[]func(*snapshot){imported, costing("4", "16Gi")}, note("4", "16Gi"), "ClassesThere"},
		"with too much of one":     {[]func(*snapshot){imported, noted, costing("4001m", "1Gi")}, nil, "ClassRefused"},
		"with too much memory":     {[]func(*snapshot){imported, costing("1", "17Gi")}, nil, "ClassRefused"},
		"with less than nothing":   {[]func(*snapshot){imported, costing("-1", "0")}, nil, "ClassRefused"},
		"mapped, and not imported": {[]func(*snapshot){mapping("RuntimeClass gvisor"), noted, costing("5", "1Gi")}, nil, "ClassesThere"},
		"a PriorityClass":          {[]func(*snapshot){valued}, []v1alpha1.ClassStatus{{Kind: v1alpha1.ClassPriority, RemoteName: "gvisor", Value: ptr.To[int32](7)}}, "ClassesThere"},
		"a StorageClass":           {[]func(*snapshot){stored}, []v1alpha1.ClassStatus{{Kind: v1alpha1.ClassStorage, RemoteName: "gvisor", ReclaimPolicy: "Retain", VolumeBindingMode: "Immediate", AllowVolumeExpansion: true}}, "ClassesThere"},
		"its room":                 {[]func(*snapshot){stored, measured, having5}, []v1alpha1.ClassStatus{storedStatus("5Gi")}, "ClassesThere"},
		"its room, not imported":   {[]func(*snapshot){stored, measured, having5, func(s *snapshot) { s.Binding.Spec.Classes[0].Import = false }}, []v1alpha1.ClassStatus{storedStatus("5Gi")}, "ClassesThere"},
		"its room, not known yet":  {[]func(*snapshot){stored, measured, func(s *snapshot) { s.Binding.Status.Classes = []v1alpha1.ClassStatus{storedStatus("7Gi")} }}, []v1alpha1.ClassStatus{storedStatus("7Gi")}, "ClassesThere"},
		"its room, not reported":   {[]func(*snapshot){stored, measured, func(s *snapshot) { s.Connection.Room = &connection.Room{} }}, []v1alpha1.ClassStatus{storedStatus("")}, "ClassesThere"},
		"its room, not asked for":  {[]func(*snapshot){stored, having5}, []v1alpha1.ClassStatus{storedStatus("")}, "ClassesThere"},
		"missing":                  {[]func(*snapshot){imported, noted, missing}, nil, "ClassMissing"},
		"not known yet":            {[]func(*snapshot){imported, noted}, note("1", "2Gi"), ""},
		"hidden":                   {[]func(*snapshot){imported, noted, having(field.ClassUnknown, "RuntimeClass gvisor")}, note("1", "2Gi"), "ClassUnreadable"},
		"away":                     {[]func(*snapshot){imported, noted, missing, func(s *snapshot) { s.Connection.Phase = connection.Disconnected }}, note("1", "2Gi"), ""},
		"not imported any more":    {[]func(*snapshot){noted}, nil, ""},
		"twice, under two names":   {[]func(*snapshot){imported, plain, func(s *snapshot) { s.Binding.Spec.Classes = append(s.Binding.Spec.Classes, s.Binding.Spec.Classes...) }}, note("", ""), "ClassesThere"},
	} {
		t.Run(name, func(t *testing.T) {
			status := Decide(up(allClasses(test.changes...)))
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
