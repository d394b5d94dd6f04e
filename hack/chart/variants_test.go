package main

import (
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	const (
		first  = "{{- if first }}\n"
		second = "{{- if second }}\n"
		end    = "{{- end }}\n"
	)
	for name, test := range map[string]struct{ own, first, second, want, fails string }{
		"the same":              {"a\nb\n", "a\nb\n", "a\nb\n", "---\na\nb\n", ""},
		"one has more":          {"a\nb\n", "a\nx\nb\n", "a\nb\n", "---\na\n" + first + "x\n" + end + "b\n", ""},
		"both, at one place":    {"a\nb\n", "a\nx\nb\n", "a\ny\nb\n", "---\na\n" + first + "x\n" + end + second + "y\n" + end + "b\n", ""},
		"at the end":            {"a\n", "a\n", "a\ny\n", "---\na\n" + second + "y\n" + end, ""},
		"another line":          {"a\nb\nc\n", "a\nx\nc\n", "a\nb\nc\n", "---\na\n" + first + "x\n{{- else }}\nb\n" + end + "c\n", ""},
		"a blank line before":   {"a\n\nb\n", "a\n\nx\n", "a\n\nb\n", "---\na\n" + first + "\nx\n{{- else }}\n\nb\n" + end, ""},
		"a blank line less":     {"a\n\nb\n", "a\nb\n", "a\n\nb\n", "---\na\n" + first + "b\n{{- else }}\n\nb\n" + end, ""},
		"both change it":        {"a\nb\n", "x\nb\n", "y\nb\n", "", "two variants change lines 1 to 1"},
		"one within the other":  {"a\nb\nc\n", "x\ny\nz\n", "a\nv\nw\n", "", "two variants change lines 1 to 3"},
		"one between the other": {"a\nb\n", "x\ny\n", "a\nv\nb\n", "", "two variants change lines 1 to 2"},
		"blank to the very end": {"a\n", "a\nx\n\n", "a\n", "", "blank line beside"},
		"the first lacks it":    {"a\n", "", "a\n", "{{- if not (first) }}\n---\na\n" + end, ""},
		"only the second has":   {"", "", "a\n", second + "---\na\n" + end, ""},
	} {
		of := func(text string) []document {
			if text == "" {
				return nil
			}
			return []document{{"Kind", "Kind /a", text}}
		}
		merged, err := merge(of(test.own), []made{{variant{when: "first"}, of(test.first)}, {variant{when: "second"}, of(test.second)}})
		got := ""
		for _, d := range merged {
			got += d.text
		}
		switch {
		case test.fails == "" && err != nil, test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)):
			t.Errorf("%s: %v, want %q", name, err, test.fails)
		case err == nil && got != test.want:
			t.Errorf("%s: got\n%s, want\n%s", name, got, test.want)
		}
	}
}
