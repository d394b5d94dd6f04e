package importedclass

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

const (
	ingressClass  = v1alpha1.ClassIngress
	runtimeClass  = v1alpha1.ClassRuntime
	priorityClass = v1alpha1.ClassPriority
	storageClass  = v1alpha1.ClassStorage
	attributes    = v1alpha1.ClassVolumeAttributes
)

// importing makes the binding import class x, which is called there-x in the provider. Its name says how old
// it is: a is the oldest.
func importing(name string, kind v1alpha1.ClassKind, there ...v1alpha1.ClassStatus) v1alpha1.ClusterBinding {
	binding := *builder.Binding(name).Obj()
	binding.UID, binding.CreationTimestamp = types.UID(name), metav1.NewTime(builder.Epoch.Add(time.Duration(name[0])*time.Hour))
	binding.Spec.Classes = []v1alpha1.ClassMapping{{Kind: kind, Name: "x", RemoteName: "there-x", Import: true}}
	binding.Status.Classes = there
	return binding
}

func there(kind v1alpha1.ClassKind) v1alpha1.ClassStatus {
	return v1alpha1.ClassStatus{Kind: kind, RemoteName: "there-x"}
}

func valued(value int32) v1alpha1.ClassStatus {
	status := there(priorityClass)
	status.Value = &value
	return status
}

func stored(policy corev1.PersistentVolumeReclaimPolicy, expands bool) v1alpha1.ClassStatus {
	status := there(storageClass)
	status.ReclaimPolicy, status.VolumeBindingMode, status.AllowVolumeExpansion = policy, storagev1.VolumeBindingImmediate, expands
	return status
}

func overhead(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
}

func leaving(binding v1alpha1.ClusterBinding) v1alpha1.ClusterBinding {
	binding.DeletionTimestamp = ptr.To(metav1.NewTime(builder.Epoch))
	return binding
}

func unimported(binding v1alpha1.ClusterBinding) v1alpha1.ClusterBinding {
	binding.Spec.Classes[0].Import = false
	return binding
}

// ours returns a class as Spillway creates it for bindings.
func ours(kind v1alpha1.ClassKind, of v1alpha1.ClassStatus) decide.Object {
	return Decide(kind, "x", []v1alpha1.ClusterBinding{importing("a", kind, of)}, nil).Create
}

func going(class decide.Object) decide.Object {
	class.SetDeletionTimestamp(ptr.To(metav1.NewTime(builder.Epoch)))
	return class
}

func TestDecide(t *testing.T) {
	type bindings = []v1alpha1.ClusterBinding
	later := stored("Delete", false)
	later.VolumeBindingMode = storagev1.VolumeBindingWaitForFirstConsumer
	foreign := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Value: 7}
	labelled := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}}, Value: 7}
	serving := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: networkingv1.IngressClassSpec{Controller: v1alpha1.IngressController}}
	for name, test := range map[string]struct {
		kind     v1alpha1.ClassKind
		bindings bindings
		found    decide.Object
		want     string
	}{
		"nobody imports it":                  {priorityClass, nil, nil, ""},
		"the provider has it":                {priorityClass, bindings{importing("a", priorityClass, valued(7))}, nil, "create with 7"},
		"the provider has not got it":        {priorityClass, bindings{importing("a", priorityClass)}, nil, ""},
		"another one of the provider":        {priorityClass, bindings{importing("a", priorityClass, there(runtimeClass))}, nil, ""},
		"mapped, and not imported":           {priorityClass, bindings{unimported(importing("a", priorityClass, valued(7)))}, nil, ""},
		"another kind":                       {priorityClass, bindings{importing("a", runtimeClass, valued(7))}, nil, ""},
		"of several, the oldest":             {priorityClass, bindings{importing("b", priorityClass, valued(8)), importing("a", priorityClass, valued(7))}, nil, "create with 7"},
		"of several, the oldest that has it": {priorityClass, bindings{importing("b", priorityClass, valued(8)), importing("a", priorityClass)}, nil, "create with 8"},
		"the oldest is going":                {priorityClass, bindings{importing("b", priorityClass, valued(8)), leaving(importing("a", priorityClass, valued(7)))}, nil, "create with 7"},
		"a high value":                       {priorityClass, bindings{importing("a", priorityClass, valued(1_000_000_000))}, nil, "create with 1000"},
		"a negative value":                   {priorityClass, bindings{importing("a", priorityClass, valued(-5))}, nil, "create with 0"},

		"it is there":                   {priorityClass, bindings{importing("a", priorityClass, valued(7))}, ours(priorityClass, valued(7)), ""},
		"from another provider":         {priorityClass, bindings{importing("b", priorityClass, valued(7))}, ours(priorityClass, valued(7)), ""},
		"its value has changed":         {priorityClass, bindings{importing("a", priorityClass, valued(8))}, ours(priorityClass, valued(7)), "delete"},
		"it is being replaced":          {priorityClass, bindings{importing("a", priorityClass, valued(8))}, going(ours(priorityClass, valued(7))), ""},
		"the provider lacks it":         {priorityClass, bindings{importing("a", priorityClass)}, ours(priorityClass, valued(7)), ""},
		"the last binding is going":     {priorityClass, bindings{leaving(importing("a", priorityClass, valued(7)))}, ours(priorityClass, valued(7)), ""},
		"the last binding is gone":      {priorityClass, nil, ours(priorityClass, valued(7)), "delete"},
		"one binding stays":             {priorityClass, bindings{leaving(importing("a", priorityClass, valued(7))), importing("b", priorityClass)}, ours(priorityClass, valued(7)), ""},
		"nobody imports it any more":    {priorityClass, bindings{unimported(importing("a", priorityClass, valued(7)))}, ours(priorityClass, valued(7)), "delete"},
		"found at a start, and left":    {runtimeClass, nil, ours(runtimeClass, there(runtimeClass)), "delete"},
		"an IngressClass that is there": {ingressClass, bindings{importing("a", ingressClass, there(ingressClass))}, ours(ingressClass, there(ingressClass)), ""},
		"a RuntimeClass that is there":  {runtimeClass, bindings{importing("a", runtimeClass, there(runtimeClass))}, ours(runtimeClass, there(runtimeClass)), ""},
		"its overhead has changed": {runtimeClass, bindings{importing("a", runtimeClass, v1alpha1.ClassStatus{Kind: runtimeClass, RemoteName: "there-x", PodOverhead: overhead("1")})},
			ours(runtimeClass, there(runtimeClass)), "delete"},

		"a StorageClass that is there":      {storageClass, bindings{importing("a", storageClass, stored("Retain", true))}, ours(storageClass, stored("Retain", true)), ""},
		"of another provider by default":    {storageClass, bindings{importing("a", storageClass, there(storageClass))}, ours(storageClass, stored("Delete", false)), ""},
		"its volumes are created otherwise": {storageClass, bindings{importing("a", storageClass, later)}, ours(storageClass, stored("Delete", false)), ""},
		"its volumes stay now":              {storageClass, bindings{importing("a", storageClass, stored("Retain", true))}, ours(storageClass, stored("Delete", true)), "delete"},
		"its volumes do not grow now":       {storageClass, bindings{importing("a", storageClass, stored("Retain", false))}, ours(storageClass, stored("Retain", true)), "delete"},
		"attributes that are there":         {attributes, bindings{importing("a", attributes, there(attributes))}, ours(attributes, there(attributes)), ""},
		"attributes that nobody imports":    {attributes, nil, ours(attributes, there(attributes)), "delete"},
		"somebody else's that provisions":   {storageClass, bindings{importing("a", storageClass, there(storageClass))}, &storagev1.StorageClass{Provisioner: "csi.spillway.io"}, ""},
		"somebody else's of storage":        {storageClass, bindings{importing("a", storageClass, there(storageClass))}, &storagev1.StorageClass{Provisioner: "csi.example.com"}, "taken for a"},
		"somebody else's that drives":       {attributes, bindings{importing("a", attributes, there(attributes))}, &storagev1.VolumeAttributesClass{DriverName: "csi.spillway.io"}, ""},
		"somebody else's of attributes":     {attributes, bindings{importing("a", attributes, there(attributes))}, &storagev1.VolumeAttributesClass{DriverName: "csi.example.com"}, "taken for a"},

		"somebody else's":                   {priorityClass, bindings{importing("b", priorityClass, valued(7)), importing("a", priorityClass)}, foreign, "taken for a b"},
		"somebody else's, with half a mark": {priorityClass, bindings{importing("a", priorityClass, valued(7))}, labelled, "taken for a"},
		"somebody else's, not imported":     {priorityClass, nil, foreign, ""},
		"somebody else's that serves":       {ingressClass, bindings{importing("a", ingressClass, there(ingressClass))}, serving, ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan, got := Decide(test.kind, "x", test.bindings, test.found), ""
			if created, ok := plan.Create.(*schedulingv1.PriorityClass); ok {
				got += fmt.Sprintf("create with %d", created.Value)
			}
			if plan.Delete != nil {
				got += "delete"
			}
			if len(plan.Taken) > 0 {
				got += "taken for"
			}
			for _, binding := range plan.Taken {
				got += " " + binding.Name
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestWhatIsMade checks that an imported class serves nothing in the consumer, runs on no local node, makes
// nothing urgent, and creates no volume for a local node.
func TestWhatIsMade(t *testing.T) {
	named := metav1.ObjectMeta{Name: "x", Labels: map[string]string{"spillway.io/managed-by": "spillway"}, Annotations: map[string]string{"spillway.io/imported-from": "a/there-x"}}
	costly := there(runtimeClass)
	costly.PodOverhead = overhead("250m")
	for kind, test := range map[v1alpha1.ClassKind]struct {
		of   v1alpha1.ClassStatus
		want decide.Object
	}{
		ingressClass: {there(ingressClass), &networkingv1.IngressClass{ObjectMeta: named, Spec: networkingv1.IngressClassSpec{Controller: "spillway.io/ingress"}}},
		runtimeClass: {costly, &nodev1.RuntimeClass{
			ObjectMeta: named, Handler: "spillway", Overhead: &nodev1.Overhead{PodFixed: overhead("250m")},
			Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"runtimeclass.spillway.io/x": "mapped"}},
		}},
		storageClass: {stored("Retain", true), &storagev1.StorageClass{
			ObjectMeta: named, Provisioner: "csi.spillway.io", ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimRetain), AllowVolumeExpansion: ptr.To(true),
			VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
			AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "storageclass.spillway.io/x", Values: []string{"mapped"}}}}},
		}},
		attributes:    {there(attributes), &storagev1.VolumeAttributesClass{ObjectMeta: named, DriverName: "csi.spillway.io", Parameters: map[string]string{"class": "x"}}},
		priorityClass: {valued(7), &schedulingv1.PriorityClass{ObjectMeta: named, Value: 7, PreemptionPolicy: ptr.To(corev1.PreemptNever)}},
	} {
		if diff := cmp.Diff(test.want, ours(kind, test.of)); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}
