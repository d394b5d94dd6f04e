package main

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// variant is a kustomization that replaces the chart's own one if a value of the chart asks for it.
type variant struct {
	source string
	// when is the condition, in Helm's language.
	when string
	// edits are the texts to replace in this variant, in addition to the edits of the chart.
	edits map[string][]edit
}

// made is a variant with the documents that kustomize builds from it.
type made struct {
	variant
	documents []document
}

func (v variant) build() (made, error) {
	documents, err := build(v.source)
	return made{v, documents}, err
}

// hunk replaces the lines from begin to end by other lines, if a condition holds.
type hunk struct {
	when       string
	begin, end int
	lines      []string
}

// merge returns all documents of the chart's own kustomization and of its variants. Each document is under
// the conditions that it needs, and so is each difference within a document.
func merge(base []document, variants []made) ([]document, error) {
	var all []document
	for _, own := range base {
		text, hunks, unless := own.text, []hunk(nil), ""
		for _, v := range variants {
			other, there := find(v.documents, own.id)
			if !there {
				unless = v.when
				continue
			}
			more, err := differences(own.text, other.text, v.when)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", own.id, v.source, err)
			}
			hunks = append(hunks, more...)
		}
		text, err := apply(text, hunks)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", own.id, err)
		}
		text = "---\n" + text
		if unless != "" {
			text = "{{- if not (" + unless + ") }}\n" + text + "{{- end }}\n"
		}
		all = append(all, document{own.kind, own.id, text})
	}
	for _, v := range variants {
		for _, other := range v.documents {
			if _, there := find(base, other.id); !there {
				all = append(all, document{other.kind, other.id, "{{- if " + v.when + " }}\n---\n" + other.text + "{{- end }}\n"})
			}
		}
	}
	return all, nil
}

func find(documents []document, id string) (document, bool) {
	for _, d := range documents {
		if d.id == id {
			return d, true
		}
	}
	return document{}, false
}

// differences returns the hunks that turn one text into the other.
func differences(text, other, when string) ([]hunk, error) {
	a, b := lines(text), lines(other)
	codes := difflib.NewMatcher(a, b).GetOpCodes()
	var all []hunk
	for k, code := range codes {
		if code.Tag == 'e' {
			continue
		}
		first, last := 0, len(a)
		if k > 0 {
			first = codes[k-1].I1
		}
		if k+1 < len(codes) {
			last = codes[k+1].I2
		}
		// Helm removes blank lines before {{-, so there must not be any.
		for code.I1 > first && a[code.I1-1] == "" {
			code.I1, code.J1 = code.I1-1, code.J1-1
		}
		for code.I2 < last && (endsBlank(a[code.I1:code.I2]) || endsBlank(b[code.J1:code.J2])) {
			code.I2, code.J2 = code.I2+1, code.J2+1
		}
		if code.I1 > 0 && a[code.I1-1] == "" || endsBlank(a[code.I1:code.I2]) || endsBlank(b[code.J1:code.J2]) {
			return nil, fmt.Errorf("there is a blank line beside what differs, at line %d, which Helm would cut off", code.I1+1)
		}
		all = append(all, hunk{when, code.I1, code.I2, b[code.J1:code.J2]})
	}
	return all, nil
}

func endsBlank(lines []string) bool { return len(lines) > 0 && lines[len(lines)-1] == "" }

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// apply puts the hunks of several variants into a text. Two hunks may insert lines at the same place, but
// they may not overlap in any other way.
func apply(text string, hunks []hunk) (string, error) {
	var out []string
	own := lines(text)
	for at := 0; at <= len(own); {
		next := at + 1
		var block []string
		for _, h := range hunks {
			switch {
			case h.begin != at:
			case h.end == h.begin:
				out = append(append(append(out, "{{- if "+h.when+" }}"), h.lines...), "{{- end }}")
			default:
				if within(hunks, h) > 1 {
					return "", fmt.Errorf("two variants change lines %d to %d", h.begin+1, h.end)
				}
				block = append([]string{"{{- if " + h.when + " }}"}, h.lines...)
				block = append(append(append(block, "{{- else }}"), own[h.begin:h.end]...), "{{- end }}")
				next = h.end
			}
		}
		switch {
		case block != nil:
			out = append(out, block...)
		case at < len(own):
			out = append(out, own[at])
		}
		at = next
	}
	return strings.Join(out, "\n") + "\n", nil
}

// within counts the hunks that change lines of h or insert lines between them, h included.
func within(hunks []hunk, h hunk) int {
	count := 0
	for _, other := range hunks {
		if other.begin < h.end && other.end > h.begin {
			count++
		}
	}
	return count
}
