// Package definitions compares, without any I/O, the schemas of Spillway's kinds that a cluster serves with
// the schemas of this version. The API server silently drops fields that its schema lacks. Fields that this
// version lacks have no effect.
package definitions

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config/crd"
)

// Schema has the path of each field of spec and status, such as spec.network.mode, with its allowed values. A
// field that is no enumeration has no values.
type Schema map[string][]string

// Of reads an OpenAPI schema, as a CustomResourceDefinition has it and an API server publishes it.
func Of(schema map[string]any) Schema {
	of := Schema{}
	properties, _ := schema["properties"].(map[string]any)
	for _, part := range []string{"spec", "status"} {
		if field, ok := properties[part].(map[string]any); ok {
			of.add(part, field)
		}
	}
	return of
}

func (s Schema) add(path string, field map[string]any) {
	s[path] = append(s[path], values(field)...)
	properties, _ := field["properties"].(map[string]any)
	for name, property := range properties {
		if property, ok := property.(map[string]any); ok {
			s.add(path+"."+name, property)
		}
	}
	for _, of := range []string{"items", "additionalProperties"} {
		if item, ok := field[of].(map[string]any); ok {
			s.add(path, item)
		}
	}
}

func values(field map[string]any) []string {
	all, _ := field["enum"].([]any)
	texts := make([]string, len(all))
	for i, value := range all {
		texts[i] = fmt.Sprint(value)
	}
	return texts
}

// Lacks returns the fields and values of another schema that this one does not have, in order. It leaves out
// the fields below a missing field.
func (s Schema) Lacks(other Schema) []string {
	var missing []string
	for _, path := range slices.Sorted(maps.Keys(other)) {
		has, known := s[path]
		at := strings.LastIndex(path, ".")
		if !known {
			if _, parent := s[path[:max(at, 0)]]; parent || at < 0 {
				missing = append(missing, path)
			}
			continue
		}
		for _, value := range other[path] {
			if len(has) > 0 && !slices.Contains(has, value) {
				missing = append(missing, path+"="+value)
			}
		}
	}
	return missing
}

// Skew is how the kinds that a cluster serves differ from the kinds of this version. Missing has the fields
// and values that the cluster lacks, such as ClusterBinding.spec.paused. Further has those that only the
// cluster has. Both are empty if there is no difference.
type Skew struct{ Missing, Further string }

// Compare compares the served schemas with the shipped ones, both by kind.
func Compare(served, shipped map[string]Schema) Skew {
	var missing, further []string
	for _, kind := range slices.Sorted(maps.Keys(shipped)) {
		for _, path := range served[kind].Lacks(shipped[kind]) {
			missing = append(missing, kind+"."+path)
		}
		for _, path := range shipped[kind].Lacks(served[kind]) {
			further = append(further, kind+"."+path)
		}
	}
	return Skew{Missing: named(missing), Further: named(further)}
}

// mostNamed is how many fields a message names.
const mostNamed = 5

func named(paths []string) string {
	if more := len(paths) - mostNamed; more > 0 {
		paths = append(paths[:mostNamed:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(paths, ", ")
}

// Shipped returns the schemas of this version.
func Shipped() (map[string]Schema, error) {
	names, err := fs.Glob(crd.Files, "bases/*.yaml")
	if err != nil {
		return nil, err
	}
	shipped := map[string]Schema{}
	for _, name := range names {
		content, err := crd.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		definition := map[string]any{}
		if err := yaml.Unmarshal(content, &definition); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		kind, schema := OfDefinition(definition)
		shipped[kind] = schema
	}
	return shipped, nil
}

// OfDefinition returns the kind and the schema of a CustomResourceDefinition, in the version that this
// program uses. A definition without that version has no fields.
func OfDefinition(definition map[string]any) (kind string, _ Schema) {
	spec, _ := definition["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	kind, _ = names["kind"].(string)
	versions, _ := spec["versions"].([]any)
	for _, version := range versions {
		version, _ := version.(map[string]any)
		schema, _ := version["schema"].(map[string]any)
		if whole, ok := schema["openAPIV3Schema"].(map[string]any); ok && version["name"] == v1alpha1.GroupVersion.Version {
			return kind, Of(whole)
		}
	}
	return kind, Schema{}
}
