package namespacelabel

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
