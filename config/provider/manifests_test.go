package provider_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	provider "github.com/spillway-io/spillway/config/provider"
	"github.com/spillway-io/spillway/test/manifests"
)

// TestObjects: they are what kustomize makes of this directory, in the same order. It adds
// line breaks to expressions that are folded.
func TestObjects(t *testing.T) {
	want, err := manifests.Kustomized(t.Context(), "config/provider")
	if err != nil {
		t.Fatal(err)
	}
	got, err := provider.Objects()
	if err != nil {
		t.Fatal(err)
	}
	folded := cmp.Comparer(func(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) })
	if diff := cmp.Diff(plain(t, want), plain(t, got), folded); diff != "" {
		t.Errorf("-kustomize +here:\n%s", diff)
	}
}

// plain are objects whose numbers have one type.
func plain(t *testing.T, objects []*unstructured.Unstructured) []any {
	t.Helper()
	var all []any
	for _, object := range objects {
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var one any
		if err := json.Unmarshal(content, &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}
