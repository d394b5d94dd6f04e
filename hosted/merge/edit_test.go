package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdit(t *testing.T) {
	before := `{"version":"v1.2","access":{"cidrs":["b","a"]},"tags":{"a":"1","b":"2"},
		"pools":[{"name":"x","size":1,"taints":[{"key":"k","effect":"E","value":"v"}]},{"name":"y"}]}`
	tests := map[string]struct {
		path  string
		value any
		want  string // "" for an error
	}{
		"a scalar":                {`version`, "1.3", `{"version":"1.3","access":{"cidrs":["b","a"]},"tags":{"a":"1","b":"2"},"pools":[{"name":"x","size":1,"taints":[{"key":"k","effect":"E","value":"v"}]},{"name":"y"}]}`},
		"one below an object":     {`access.public`, true, `{"version":"v1.2","access":{"cidrs":["b","a"],"public":true},"tags":{"a":"1","b":"2"},"pools":[{"name":"x","size":1,"taints":[{"key":"k","effect":"E","value":"v"}]},{"name":"y"}]}`},
		"a key is removed":        {`tags["a"]`, nil, `{"version":"v1.2","access":{"cidrs":["b","a"]},"tags":{"b":"2"},"pools":[{"name":"x","size":1,"taints":[{"key":"k","effect":"E","value":"v"}]},{"name":"y"}]}`},
		"a new item":              {`pools["z"].size`, 3.0, `{"version":"v1.2","access":{"cidrs":["b","a"]},"tags":{"a":"1","b":"2"},"pools":[{"name":"x","size":1,"taints":[{"key":"k","effect":"E","value":"v"}]},{"name":"y"},{"name":"z","size":3}]}`},
		"an item is removed":      {`pools["x"]`, nil, `{"version":"v1.2","access":{"cidrs":["b","a"]},"tags":{"a":"1","b":"2"},"pools":[{"name":"y"}]}`},
		"a key of an item":        {`pools["y"].labels["l"]`, "1", `{"version":"v1.2","access":{"cidrs":["b","a"]},"tags":{"a":"1","b":"2"},"pools":[{"name":"x","size":1,"taints":[{"key":"k","effect":"E","value":"v"}]},{"name":"y","labels":{"l":"1"}}]}`},
		"an item without fields":  {`pools["x"].taints["k:E"]`, nil, `{"version":"v1.2","access":{"cidrs":["b","a"]},"tags":{"a":"1","b":"2"},"pools":[{"name":"x","size":1,"taints":[]},{"name":"y"}]}`},
		"nothing to remove":       {`pools["z"]`, nil, `{"version":"v1.2","access":{"cidrs":["b","a"]},"tags":{"a":"1","b":"2"},"pools":[{"name":"x","size":1,"taints":[{"key":"k","effect":"E","value":"v"}]},{"name":"y"}]}`},
		"no such field":           {`nodes["x"]`, "1", ``},
		"no such field of a pool": {`pools["x"].color`, "1", ``},
		"a key of no map":         {`version["x"]`, "1", ``},
		"no path":                 {`tags[a]`, "1", ``},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := object(t, before)
			got, err := Edited(toy, config, map[string]any{test.path: test.value})
			if (err != nil) != (test.want == "") {
				t.Fatal(err)
			}
			if test.want == "" {
				return
			}
			if diff := cmp.Diff(object(t, test.want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(object(t, before), config); diff != "" {
				t.Errorf("the original has changed: -want +got:\n%s", diff)
			}
		})
	}
}

// TestRow: each leaf of a configuration leads to its row.
func TestRow(t *testing.T) {
	config := object(t, `{"region":"r","access":{"public":true},"tags":{"a.b/c":"1"},"pools":[{"name":"x.y","size":1,"labels":{"a\"]":"1"},"taints":[{"key":"k","effect":"E"}]}]}`)
	all := toy.read(config).at
	if len(all) != 7 {
		t.Fatalf("got %d leaves", len(all))
	}
	for path, leaf := range all {
		if got := RowOf(toy, path); got != leaf.field {
			t.Errorf("%s: got %+v, want %+v", path, got, leaf.field)
		}
	}
}
