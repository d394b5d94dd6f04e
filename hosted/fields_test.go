package hosted_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/aks"
	"github.com/spillway-io/spillway/hosted/clouds/eks"
	"github.com/spillway-io/spillway/hosted/clouds/gke"
	"github.com/spillway-io/spillway/hosted/merge"
)

// clouds has each cloud by the field of the spec that has its configuration.
var clouds = map[string]struct {
	table *merge.Table
	empty func() any
}{
	"eksConfig": {eks.Table, func() any { return &v1alpha1.EKSConfig{} }},
	"aksConfig": {aks.Table, func() any { return &v1alpha1.AKSConfig{} }},
	"gkeConfig": {gke.Table, func() any { return &v1alpha1.GKEConfig{} }},
}

type schema = apiextensionsv1.JSONSchemaProps

// TestEveryField compares the tables with the CRD. Each field must have a row of its shape, and each row a
// field. The description must say which fields cannot be changed.
func TestEveryField(t *testing.T) {
	for name, config := range schemas(t) {
		t.Run(name, func(t *testing.T) {
			rows := map[string]merge.Field{}
			for _, f := range clouds[name].table.Fields {
				rows[f.Path] = f
			}
			walk(t, "", config, false, rows)
			for path := range rows {
				t.Errorf("%s has a row, and there is no such field", path)
			}
		})
	}
}

// walk checks the fields of a schema, and removes their rows from rows.
func walk(t *testing.T, prefix string, object schema, immutable bool, rows map[string]merge.Field) {
	t.Helper()
	for name, field := range object.Properties {
		path := prefix + name
		row, ok := rows[path]
		delete(rows, path)
		description := strings.Join(strings.Fields(field.Description), " ")
		cannot := immutable || strings.Contains(description, "It cannot be changed.") ||
			strings.Contains(description, "They cannot be changed.")
		switch {
		case !ok && len(field.Properties) > 0:
			walk(t, path+".", field, cannot, rows)
			continue
		case !ok:
			t.Errorf("%s has no row", path)
			continue
		case row.Immutable != cannot:
			t.Errorf("%s: the table has immutable: %v, the description %v", path, row.Immutable, cannot)
		case !slices.Contains(shapes(field), row.Shape):
			t.Errorf("%s has the shape %v, want one of %v", path, row.Shape, shapes(field))
		}
		if row.Shape == merge.Keyed && row.Key != "" {
			item := *field.Items.Schema.DeepCopy()
			if !slices.Equal(field.XListMapKeys, []string{row.Key}) {
				t.Errorf("%s is known by %s, and listed by %v", path, row.Key, field.XListMapKeys)
			}
			delete(item.Properties, row.Key)
			walk(t, path+"[].", item, cannot, rows)
		}
	}
}

func shapes(field schema) []merge.Shape {
	switch {
	case field.AdditionalProperties != nil:
		return []merge.Shape{merge.Map}
	case field.Type == "array" && field.Items.Schema.Type == "object":
		return []merge.Shape{merge.Keyed}
	case field.Type == "array":
		return []merge.Shape{merge.Set, merge.Whole, merge.Keyed}
	default:
		return []merge.Shape{merge.Scalar}
	}
}

// TestRoundTrip sets each field of a configuration, converts it to its type and back, and expects the same from
// Merge.
func TestRoundTrip(t *testing.T) {
	for name, config := range schemas(t) {
		t.Run(name, func(t *testing.T) {
			want, ok := example(name, config).(map[string]any)
			if !ok {
				t.Fatal("a configuration is an object")
			}
			typed := clouds[name].empty()
			if err := merge.Typed(want, typed); err != nil {
				t.Fatal(err)
			}
			tree, err := merge.Tree(typed)
			if err != nil {
				t.Fatal(err)
			}
			plan := merge.Merge(merge.Input{Table: clouds[name].table, Spec: tree, Upstream: tree, Complete: true})
			if diff := cmp.Diff(want, plan.Effective); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(plan.Writes)+len(plan.Conflicts) > 0 {
				t.Errorf("a cluster that is as it should be: %+v", plan.Writes)
			}
		})
	}
}

// example returns a value for a schema.
func example(name string, s schema) any {
	switch {
	case len(s.Enum) > 0:
		return strings.Trim(string(s.Enum[0].Raw), `"`)
	case s.AdditionalProperties != nil:
		return map[string]any{"a.b/c": "1", "d": "2"}
	case s.Type == "object":
		m := map[string]any{}
		for name, field := range s.Properties {
			m[name] = example(name, field)
		}
		return m
	case s.Type == "array":
		return []any{example(name, *s.Items.Schema)}
	case s.Type == "boolean":
		return true
	case s.Type == "integer":
		return float64(3)
	default:
		return fmt.Sprint("a-", strings.ToLower(name))
	}
}

func schemas(t *testing.T) map[string]schema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "config", "hosted", "crd", "bases", "hosted.spillway.io_hostedclusters.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	maps.DeleteFunc(spec, func(name string, _ schema) bool { return clouds[name].table == nil })
	if len(spec) != len(clouds) {
		t.Fatalf("the CRD has %d clouds, want %d", len(spec), len(clouds))
	}
	return spec
}
