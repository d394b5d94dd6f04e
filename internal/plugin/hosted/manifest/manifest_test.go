package manifest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// before is a document that a person has written.
const before = `# The shop.
apiVersion: v1
kind: Thing
spec:
  config:
    version: "1.32"   # not yet 1.33
    name: shop

    networks: [10.0.0.0/8, '192.0.2.0/24']  # the office
    tags: {owner: shop, cost: "7"}
    labels:
      # who pays
      team: a
      cost: "7"  # per day
    script: |
      one
      two
    empty:
    pools:
    - name: old   # the first one
      count: 2
      zones:
      - a
      - b
    # the second one
    - name: web
      count: 1
  other: true
`

// config is what before says below spec.config.
const config = `{version: "1.32", name: shop, networks: [10.0.0.0/8, 192.0.2.0/24], tags: {owner: shop, cost: "7"}, labels: {team: a, cost: "7"},
	script: "one\ntwo\n", empty: null, pools: [{name: old, count: 2, zones: [a, b]}, {name: web, count: 1}]}`

func TestSet(t *testing.T) {
	tests := map[string]struct {
		// change replaces a part of config.
		old, new string
		// lines are replaced in before: those of minus by those of plus.
		minus, plus string
	}{
		"nothing":                      {"", "", "", ""},
		"a quoted text":                {`"1.32"`, `"1.33"`, `"1.32"   #`, `"1.33"   #`},
		"a plain text":                 {`name: shop,`, `name: store,`, "name: shop\n", "name: store\n"},
		"a plain text needs quotes":    {`name: shop,`, `name: "true",`, "name: shop\n", "name: \"true\"\n"},
		"an item of a flow list":       {`[10.0.0.0/8, 192.0.2.0/24]`, `[10.0.0.0/8, 198.51.100.0/24]`, `, '192.0.2.0/24']`, `, 198.51.100.0/24]`},
		"one goes, at the begin":       {`[10.0.0.0/8, 192.0.2.0/24]`, `[192.0.2.0/24]`, `[10.0.0.0/8, `, `[`},
		"all others":                   {`[10.0.0.0/8, 192.0.2.0/24]`, `["::/0"]`, `[10.0.0.0/8, '192.0.2.0/24']`, `["::/0"]`},
		"none":                         {`[10.0.0.0/8, 192.0.2.0/24]`, `[]`, `[10.0.0.0/8, '192.0.2.0/24']`, `[]`},
		"a key of a flow map":          {`owner: shop,`, `owner: me,`, `{owner: shop,`, `{owner: me,`},
		"a new key of a flow map":      {`tags: {`, `tags: {a.b/c: "1", `, `cost: "7"}`, `cost: "7", a.b/c: "1"}`},
		"a key of a flow map goes":     {`owner: shop, cost: "7"}`, `owner: shop}`, `{owner: shop, cost: "7"}`, `{owner: shop}`},
		"a key of a map":               {`labels: {team: a,`, `labels: {team: b,`, "team: a\n", "team: b\n"},
		"a new key of a map":           {`labels: {`, `labels: {more: "1", `, "cost: \"7\"  # per day\n", "cost: \"7\"  # per day\n      more: \"1\"\n"},
		"a key of a map goes":          {`team: a, `, ``, "      team: a\n", ""},
		"a number":                     {`name: web, count: 1`, `name: web, count: 5`, "count: 1\n", "count: 5\n"},
		"a field of an item":           {`name: web, count: 1`, `name: web, count: 1, mode: User`, "count: 1\n", "count: 1\n      mode: User\n"},
		"a list of an item":            {`zones: [a, b]`, `zones: [b, c]`, "      - a\n      - b\n", "      - b\n      - c\n"},
		"a list of an item is emptied": {`zones: [a, b]`, `zones: []`, "      zones:\n      - a\n      - b\n", "      zones: []\n"},
		"an item goes":                 {`{name: old, count: 2, zones: [a, b]}, `, ``, "    - name: old   # the first one\n      count: 2\n      zones:\n      - a\n      - b\n", ""},
		"the last item goes":           {`, {name: web, count: 1}`, ``, "    - name: web\n      count: 1\n", ""},
		"another item":                 {`{name: web, count: 1}`, `{name: web, count: 1}, {name: z, labels: {a: "1"}}`, "      count: 1\n", "      count: 1\n    - labels:\n        a: \"1\"\n      name: z\n"},
		"the last one is another":      {`{name: web, count: 1}`, `{name: z}`, "    - name: web\n      count: 1\n", "    - name: z\n"},
		"a text of several lines":      {`"one\ntwo\n"`, `"three"`, "|\n      one\n      two\n", "three\n"},
		"what has no value":            {`empty: null`, `empty: [1]`, "empty:\n", "empty: [1]\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var want any
			if err := yaml.Unmarshal([]byte(strings.Replace(config, test.old, test.new, 1)), &want); err != nil {
				t.Fatal(err)
			}
			expected := strings.Replace(before, test.minus, test.plus, 1)
			for _, end := range []string{"\n", "\r\n"} {
				got, err := Set([]byte(strings.ReplaceAll(before, "\n", end)), []string{"spec", "config"}, want)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.ReplaceAll(expected, "\n", end), string(got)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

// TestAliases: what has aliases may stay, and what stands beside them may change.
func TestAliases(t *testing.T) {
	const text = "metadata: {labels: &l {a: b}}\nspec:\n  config:\n    tags: *l\n    size: 1\n    more: *l\n  base: &b {x: 1}\n  other: {<<: *b, y: 2}\n"
	got, err := Set([]byte(text), []string{"spec", "config"}, map[string]any{"tags": map[string]any{"a": "b"}, "more": map[string]any{"a": "b"}, "size": 2, "zone": "z"})
	want := strings.Replace(strings.Replace(text, "size: 1", "size: 2", 1), "more: *l\n", "more: *l\n    zone: z\n", 1)
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestByHand: what cannot be changed safely is refused.
func TestByHand(t *testing.T) {
	for name, test := range map[string]struct{ document, want string }{
		"an anchor":              {"spec: {config: &a {b: 1}, other: *a}", "{b: 2}"},
		"text over two lines":    {"spec:\n  config:\n    a: one\n      two\n    b: 1\n", `{a: three, b: 1}`},
		"all keys of a map":      {"spec:\n  config:\n    a: 1\n", `{b: 1}`},
		"all fields of an item":  {"spec:\n  config:\n  - {name: old}\n  - a: 1\n    b: 1\n", `[{name: old}, {a: 2}]`},
		"the path is not there":  {"spec: {}", "{}"},
		"there is no document":   {"# empty", "{}"},
		"it is not YAML at all":  {"a: b: c", "{}"},
		"a comment in a list":    {"spec:\n  config:\n    a:\n    - b # why\n    - c\n", "{a: []}"},
		"a merged map":           {"base: &b {a: 1}\nspec: {config: {<<: *b, c: 1}}", "{a: 2, c: 1}"},
		"a tag beside the value": {"spec: {config: {a: !!str 1}}", `{a: "2"}`},
	} {
		var want any
		if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}
		path := []string{"spec", "config"}
		if name == "the path is not there" {
			path = append(path, "more")
		}
		got, err := Set([]byte(test.document), path, want)
		switch name {
		case "all fields of an item":
			// The old item goes with its lines.
			if err != nil && !errors.Is(err, ErrByHand) {
				t.Errorf("%s: %v", name, err)
			}
		default:
			if err == nil {
				t.Errorf("%s: got %s", name, got)
			}
		}
	}
}
