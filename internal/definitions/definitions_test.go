package definitions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/internal/definitions"
)

// object returns a schema with these properties.
func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties}
}

func TestCompare(t *testing.T) {
	text := map[string]any{"type": "string"}
	list := map[string]any{"type": "array", "items": object(map[string]any{"name": text})}
	enum := func(values ...any) map[string]any { return map[string]any{"type": "string", "enum": values} }
	base := object(map[string]any{"metadata": text, "spec": object(map[string]any{
		"mode": enum("A", "B"), "list": list,
	})})
	with := func(properties map[string]any) map[string]any {
		return object(map[string]any{"spec": object(properties)})
	}
	for name, test := range map[string]struct {
		served map[string]any
		want   definitions.Skew
	}{
		"the same": {base, definitions.Skew{}},
		"a field less, with what is below": {with(map[string]any{"mode": enum("A", "B")}),
			definitions.Skew{Missing: "Kind.spec.list"}},
		"a field of an item less, and one more": {with(map[string]any{"mode": enum("A", "B"), "list": map[string]any{"type": "array", "items": object(map[string]any{"other": text})}}),
			definitions.Skew{Missing: "Kind.spec.list.name", Further: "Kind.spec.list.other"}},
		"a value less, and one more": {with(map[string]any{"mode": enum("B", "C"), "list": list}),
			definitions.Skew{Missing: "Kind.spec.mode=A", Further: "Kind.spec.mode=C"}},
		"nothing": {map[string]any{}, definitions.Skew{Missing: "Kind.spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := definitions.Compare(map[string]definitions.Schema{"Kind": definitions.Of(test.served)}, map[string]definitions.Schema{"Kind": definitions.Of(base)})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestShipped checks that the shipped schemas can be read, and have the fields that the manager depends on.
func TestShipped(t *testing.T) {
	shipped, err := definitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ kind, path string }{
		{"ClusterBinding", "status.holder.identity"}, {"NamespaceMap", "status.currentMapping.phase"}, {"NamespaceOffloading", "spec.clusterSelector"},
	} {
		if _, ok := shipped[want.kind][want.path]; !ok {
			t.Errorf("%s has no %s", want.kind, want.path)
		}
	}
}
