package namespacelabel

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func labelled(value string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	if value != "" {
		namespace.Labels = map[string]string{v1alpha1.LabelOffload: value}
	}
	return namespace
}

func TestDecide(t *testing.T) {
	made := map[string]string{v1alpha1.LabelCreatedBy: v1alpha1.CreatedByNamespaceLabel}
	byLabel, byHand := builder.Offloading("team").Labels(made).Obj(), builder.Offloading("team").Obj()
	going := builder.Offloading("team").Labels(made).Deleted(time.Hour).Obj()
	terminating := labelled("true")
	terminating.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}
	tests := map[string]struct {
		namespace *corev1.Namespace
		existing  *v1alpha1.NamespaceOffloading
		want      action
	}{
		"label, and none there":                   {labelled("true"), nil, create},
		"label, and the one that it made":         {labelled("true"), byLabel, nothing},
		"label, and one made by hand":             {labelled("true"), byHand, nothing},
		"label, and one that is going":            {labelled("true"), going, nothing},
		"no label, and none there":                {labelled(""), nil, nothing},
		"no label, and the one that it made":      {labelled(""), byLabel, remove},
		"no label, and one made by hand":          {labelled(""), byHand, nothing},
		"no label, and one that is going already": {labelled(""), going, nothing},
		"another value is no label":               {labelled("false"), nil, nothing},
		"another value takes it back":             {labelled("True"), byLabel, remove},
		"the namespace is going":                  {terminating, nil, nothing},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := decide(test.namespace, test.existing); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestLabelChanges(t *testing.T) {
	p := labelChanges()
	another := labelled("true")
	another.SetUID("another")
	for name, test := range map[string]struct{ got, want bool }{
		"new, with the label":    {p.Create(event.CreateEvent{Object: labelled("true")}), true},
		"new, misspelt":          {p.Create(event.CreateEvent{Object: labelled("True")}), true},
		"new, and it says no":    {p.Create(event.CreateEvent{Object: labelled("false")}), false},
		"it is misspelt now":     {p.Update(event.UpdateEvent{ObjectOld: labelled(""), ObjectNew: labelled("yes")}), true},
		"new, without":           {p.Create(event.CreateEvent{Object: labelled("")}), false},
		"labelled":               {p.Update(event.UpdateEvent{ObjectOld: labelled(""), ObjectNew: labelled("true")}), true},
		"the label goes":         {p.Update(event.UpdateEvent{ObjectOld: labelled("true"), ObjectNew: labelled("")}), true},
		"the label turns false":  {p.Update(event.UpdateEvent{ObjectOld: labelled("true"), ObjectNew: labelled("false")}), true},
		"something else changes": {p.Update(event.UpdateEvent{ObjectOld: labelled("true"), ObjectNew: labelled("true")}), false},
		"made again":             {p.Update(event.UpdateEvent{ObjectOld: labelled("true"), ObjectNew: another}), true},
		"gone":                   {p.Delete(event.DeleteEvent{Object: labelled("true")}), false},
	} {
		if test.got != test.want {
			t.Errorf("%s: passes: %v", name, test.got)
		}
	}
}

// TestEvents checks what the controller tells the owner of a namespace about the label.
func TestEvents(t *testing.T) {
	tests := map[string]struct {
		label    string
		existing bool
		want     []string
	}{
		"asked for":               {"true", false, []string{"Normal MadeByLabel", "kubectl label namespace team spillway.io/offload-"}},
		"asked for, and there":    {"true", true, nil},
		"the case is wrong":       {"True", false, []string{"Warning LabelNotUnderstood", "spillway.io/offload=True", "must be true"}},
		"another word":            {"yes", false, []string{"Warning LabelNotUnderstood", "spillway.io/offload=yes"}},
		"it says no":              {"false", false, nil},
		"there is no such label":  {"", false, nil},
		"misspelt, and made else": {"TRUE", true, []string{"Warning LabelNotUnderstood"}},
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{labelled(test.label)}
			if test.existing {
				objects = append(objects, builder.Offloading("team").Obj())
			}
			recorder := events.NewFakeRecorder(9)
			r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), Events: recorder}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "team"}}); err != nil {
				t.Fatal(err)
			}
			close(recorder.Events)
			got := strings.Join(slices.Collect(received(recorder.Events)), "\n")
			if (got == "") != (test.want == nil) || strings.Count(got, "\n") > 0 {
				t.Fatalf("told: %q", got)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("told: %q, want %q in it", got, want)
				}
			}
		})
	}
}

func received(from <-chan string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text := range from {
			if !yield(text) {
				return
			}
		}
	}
}
