package objects

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
)

func limits(data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "limits"}, "data": data}}
}

func TestDiffer(t *testing.T) {
	got := Differ(limits(map[string]any{"same": "a", "changed": "b", "added": ""}), limits(map[string]any{"same": "a", "changed": "c", "missing": ""}))
	// A missing key allows nothing, like an empty one.
	if want := []string{"added", "changed"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestKept: who asks for no profile does not read how to replace the limits.
func TestKept(t *testing.T) {
	for profile, want := range map[string]string{
		"": "it has its own values of a, b", "trusted": "it differs from the profile trusted in a, b; to reset it, delete it and run this again",
	} {
		if got := ofKept([]string{"a", "b"}, profile); got != want {
			t.Errorf("%q: got %q", profile, got)
		}
	}
}

func TestSame(t *testing.T) {
	a, b := limits(map[string]any{"a": "b"}), limits(map[string]any{"a": "b"})
	b.SetResourceVersion("2")
	b.SetGeneration(2)
	b.Object["status"] = map[string]any{"c": "d"}
	if !same(a, b) {
		t.Error("what the API server writes counts")
	}
	b.SetLabels(map[string]string{"e": "f"})
	if same(a, b) {
		t.Error("a label does not count")
	}
}

func TestName(t *testing.T) {
	role := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "a"}}}
	if got := Name(role) + " " + Name(limits(nil)); got != "role.rbac.authorization.k8s.io/a configmap/limits" {
		t.Error(got)
	}
}

func TestHeld(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}}}
	object.SetFinalizers([]string{"a/b"})
	if got := held(object); got != "; it waits for the finalizers a/b" {
		t.Error(got)
	}
	object.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "NamespaceFinalizersRemaining", "status": "True", "message": "c/d\x1b[2J in 1 resource instances"},
		map[string]any{"type": "NamespaceDeletionDiscoveryFailure", "status": "False", "message": "no"},
	}}
	if got := held(object); got != "; it waits for the finalizers a/b; NamespaceFinalizersRemaining: c/d [2J in 1 resource instances" {
		t.Error(got)
	}
}

// TestWider: there is a warning if the existing limits allow what the wanted profile does not.
func TestWider(t *testing.T) {
	shipped := func(directory string) *unstructured.Unstructured {
		all, err := config.Objects(directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range all {
			if account.IsLimits(object) {
				return object
			}
		}
		t.Fatalf("%s has no limits", directory)
		return nil
	}
	confined, trusted, between := shipped("provider"), shipped("provider-trusted"), shipped("provider")
	if err := unstructured.SetNestedField(between.Object, "*", "data", "tolerationKeys"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		there, wanted *unstructured.Unstructured
		want          string
	}{
		"the same":          {confined, confined, ""},
		"the same, trusted": {trusted, trusted, ""},
		"less":              {confined, trusted, ""},
		"more":              {trusted, confined, `those of the profile "trusted", not "confined"`},
		"one key more":      {between, confined, "They allow more in tolerationKeys, and are kept"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Wider(test.there, test.wanted)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
