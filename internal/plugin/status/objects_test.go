package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestObjects: what Spillway has said about Ingresses that are still as they were then.
func TestObjects(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	changed := func(by, sub string, minute int) metav1.ManagedFieldsEntry {
		when := at(minute)
		return metav1.ManagedFieldsEntry{Manager: by, Subresource: sub, Time: &when, Operation: metav1.ManagedFieldsOperationUpdate}
	}
	now := map[string]metav1.Object{}
	for name, fields := range map[string][]metav1.ManagedFieldsEntry{
		"web": nil, "marked": {changed("spillway", "", 7), changed("nginx", "status", 7)}, "mended": {changed("kubectl", "", 7)},
	} {
		now[name] = &metav1.ObjectMeta{Name: name, UID: types.UID(name), ManagedFields: fields}
	}
	told := func(name, by, message string, minute int) corev1.Event {
		return corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name + message, CreationTimestamp: at(minute)}, Reason: "No", Message: message, ReportingController: by,
			InvolvedObject: corev1.ObjectReference{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: "team", Name: name, UID: types.UID(name)},
		}
	}
	const ours = "spillway-syncer"
	elsewhere, another, binding := told("web", ours, "no", 5), told("web", ours, "no", 5), told("web", ours, "no", 5)
	elsewhere.InvolvedObject.Namespace, another.InvolvedObject.UID, binding.InvolvedObject.APIVersion = "other", "before", v1alpha1.GroupVersion.String()
	for name, test := range map[string]struct {
		events []corev1.Event
		want   []string
	}{
		"of two providers":        {[]corev1.Event{told("web", ours, "us", 6), told("web", ours, "eu", 5)}, []string{"web: No: eu (at 2026-01-02T03:05:00Z, 54m ago)", "web: No: us (at 2026-01-02T03:06:00Z, 53m ago)"}},
		"said once more":          {[]corev1.Event{told("web", ours, "no", 5), told("web", "spillway-volume", "no", 25)}, []string{"web: No: no (at 2026-01-02T03:25:00Z, 34m ago)"}},
		"marked by Spillway":      {[]corev1.Event{told("marked", ours, "no", 5)}, []string{"marked: No: no (at 2026-01-02T03:05:00Z, 54m ago)"}},
		"mended by its owner":     {[]corev1.Event{told("mended", ours, "no", 5)}, nil},
		"mended, and not enough":  {[]corev1.Event{told("mended", ours, "no", 8)}, []string{"mended: No: no (at 2026-01-02T03:08:00Z, 51m ago)"}},
		"created again":           {[]corev1.Event{another}, nil},
		"of another":              {[]corev1.Event{told("web", "ingress-nginx", "no", 5)}, nil},
		"of the provider":         {[]corev1.Event{told("web", "spillway", "no", 5)}, nil},
		"in another namespace":    {[]corev1.Event{elsewhere}, nil},
		"of Spillway's own kinds": {[]corev1.Event{binding}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			seen := Seen{Offloadings: []v1alpha1.NamespaceOffloading{{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}}}
			var got []string
			all := seen.about(test.events)
			for i := range all {
				if concerns(&all[i], now[all[i].InvolvedObject.Name]) {
					got = append(got, strings.TrimPrefix(objectOf(&all[i], at(59).Time).String(), "Ingress "))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrawObjects(t *testing.T) {
	var b strings.Builder
	drawObjects(&b, []Object{
		{"a", "Ingress", "web", "No", "it is not", "2026-01-02T03:05:00Z", "7m"}, {"a", "Service", "web", "No", "", "2026-01-02T03:06:00Z", "7m"}, {"b", "Ingress", "web", "No", "", "2026-01-02T03:05:00Z", "7m"},
	})
	const want = `within the last hour, and perhaps repaired since: not in a provider, or there with changes:
├─ namespace a
│  ├─ Ingress web: No: it is not (at 2026-01-02T03:05:00Z, 7m ago)
│  └─ Service web: No (at 2026-01-02T03:06:00Z, 7m ago)
└─ namespace b
   └─ Ingress web: No (at 2026-01-02T03:05:00Z, 7m ago)
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	drawObjects(&b, make([]Object, mostDrawn+5))
	if lines := strings.Count(b.String(), "\n"); lines != mostDrawn+3 {
		t.Errorf("many have %d lines", lines)
	}
}

// TestHolds: an event hides nothing because its object cannot be read.
func TestHolds(t *testing.T) {
	var answer error
	consumer := interceptor.NewClient(nil, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return answer
	}})
	for name, test := range map[string]struct {
		answer error
		want   bool
	}{
		"gone":           {apierrors.NewNotFound(schema.GroupResource{}, "web"), false},
		"not served":     {&meta.NoKindMatchError{}, false},
		"forbidden":      {apierrors.NewForbidden(schema.GroupResource{}, "web", nil), true},
		"without name":   {errors.New("resource name may not be empty"), true},
		"no answer":      {apierrors.NewServiceUnavailable("no"), true},
		"another object": {nil, false},
	} {
		answer = test.answer
		if got := holds(t.Context(), consumer, &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Ingress", UID: "web"}}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
