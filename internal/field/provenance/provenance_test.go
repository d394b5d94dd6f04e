package provenance

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var mark = Mark{Origin: "origin-uid", ClusterID: "eu"}

func object(labels, annotations map[string]string) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Name: "name", Labels: labels, Annotations: annotations}
}

func with(labels map[string]string, key, value string) map[string]string {
	if value == "" {
		delete(labels, key)
	} else {
		labels[key] = value
	}
	return labels
}

func TestMarkIsOn(t *testing.T) {
	tests := map[string]struct {
		labels map[string]string
		want   bool
	}{
		"all of it":               {mark.Labels(), true},
		"all of it and more":      {with(mark.Labels(), "a", "b"), true},
		"nothing":                 {nil, false},
		"not managed by Spillway": {with(mark.Labels(), v1alpha1.LabelManagedBy, ""), false},
		"managed by another":      {with(mark.Labels(), v1alpha1.LabelManagedBy, "helm"), false},
		"no origin":               {with(mark.Labels(), v1alpha1.LabelOrigin, ""), false},
		"of another consumer":     {with(mark.Labels(), v1alpha1.LabelOrigin, "other"), false},
		"no binding":              {with(mark.Labels(), v1alpha1.LabelBinding, ""), false},
		"through another binding": {with(mark.Labels(), v1alpha1.LabelBinding, "us"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mark.IsOn(object(test.labels, nil)); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
	mark.Labels()[v1alpha1.LabelOrigin] = "changed"
	if mark.Labels()[v1alpha1.LabelOrigin] != "origin-uid" {
		t.Error("the labels are not a map of their own")
	}
}

func TestLocalOf(t *testing.T) {
	got := LocalOf(object(nil, NamespaceAnnotations("team", "uid")))
	if diff := cmp.Diff(Local{Namespace: "team", Name: "team", UID: "uid"}, got); diff != "" {
		t.Error(diff)
	}
	if got := LocalOf(object(nil, nil)); got != (Local{}) {
		t.Errorf("got %v of an object that does not say", got)
	}
}

func TestDescribe(t *testing.T) {
	long := strings.Repeat("x", 63) + "…"
	tests := map[string]struct {
		labels, annotations map[string]string
		want                string
	}{
		"nobody's":   {nil, nil, "it was not created by Spillway"},
		"somebody's": {map[string]string{"app.kubernetes.io/managed-by": "Helm"}, nil, "it is managed by Helm"},
		"another consumer's": {Mark{Origin: "other-uid", ClusterID: "eu"}.Labels(), NamespaceAnnotations("team", "uid"),
			"it belongs to Spillway's consumer other-uid, binding eu, local namespace team (UID uid)"},
		"Spillway's, and no more is known": {map[string]string{v1alpha1.LabelManagedBy: "spillway"}, nil,
			"it belongs to Spillway's consumer unknown, binding unknown, local namespace unknown (UID unknown)"},
		"Spillway's rather than what else it says": {with(Mark{Origin: "o", ClusterID: "b"}.Labels(), "app.kubernetes.io/managed-by", "Helm"), NamespaceAnnotations("n", "u"),
			"it belongs to Spillway's consumer o, binding b, local namespace n (UID u)"},
		"long": {Mark{Origin: "o", ClusterID: "b"}.Labels(), NamespaceAnnotations(strings.Repeat("x", 10_000), "u"),
			"it belongs to Spillway's consumer o, binding b, local namespace " + long + " (UID u)"},
		"lines and escape sequences": {Mark{Origin: "o", ClusterID: "b"}.Labels(), NamespaceAnnotations("a\nb\r\x1b[31mc\x00\x7f", "u"),
			"it belongs to Spillway's consumer o, binding b, local namespace a b  [31mc   (UID u)"},
		"other control characters, and such as turn the line round": {Mark{Origin: "o", ClusterID: "b"}.Labels(), NamespaceAnnotations("a\u009b31mb\u202ec\u2028d", "u"),
			"it belongs to Spillway's consumer o, binding b, local namespace a 31mb c d (UID u)"},
		"not UTF-8": {Mark{Origin: "o", ClusterID: "b"}.Labels(), NamespaceAnnotations("a\xffb", "u"),
			"it belongs to Spillway's consumer o, binding b, local namespace a\ufffdb (UID u)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Describe(object(test.labels, test.annotations))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add("spillway", "origin", "eu", "team", "uid", "")
	f.Add("", "", "", "", "", "Helm")
	f.Add("spillway", "\x1b]0;title\a", "\u202e", "\n\n", "\xff\xfe", "")
	f.Fuzz(func(t *testing.T, managedBy, origin, binding, namespace, uid, other string) {
		text := Describe(object(map[string]string{
			v1alpha1.LabelManagedBy: managedBy, v1alpha1.LabelOrigin: origin, v1alpha1.LabelBinding: binding, "app.kubernetes.io/managed-by": other,
		}, map[string]string{v1alpha1.AnnotationLocalNamespace: namespace, v1alpha1.AnnotationLocalUID: uid}))
		if utf8.RuneCountInString(text) > 4*64+100 || !utf8.ValidString(text) {
			t.Errorf("too long, or not UTF-8: %q", text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("character %d of %q cannot be printed", i, text)
		}
	})
}
