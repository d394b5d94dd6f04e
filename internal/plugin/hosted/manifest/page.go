package manifest

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// page is a text with lines.
type page struct {
	text []byte
	// lines has the offset of each line.
	lines []int
	// eol is how lines end.
	eol string
}

func newPage(text []byte) page {
	p := page{text, []int{0}, "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		p.eol = "\r\n"
	}
	for i, b := range text {
		if b == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	return p
}

// begin returns the offset of a node.
func (p page) begin(n *yaml.Node) int {
	at := p.lines[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(p.text[at:])
		at += size
	}
	return at
}

// line returns a line without its end.
func (p page) line(i int) []byte {
	end := len(p.text)
	if i+1 < len(p.lines) {
		end = p.lines[i+1] - 1
	}
	return bytes.TrimSuffix(p.text[p.lines[i]:end], []byte("\r"))
}

func (p page) indent(i int) int {
	line := p.line(i)
	return len(line) - len(bytes.TrimLeft(line, " "))
}

// lineOf returns the number of the line that has this offset.
func (p page) lineOf(at int) int {
	i := 0
	for i+1 < len(p.lines) && p.lines[i+1] <= at {
		i++
	}
	return i
}

// newline returns how long the end of a line is.
func (p page) newline(i int) int {
	if i+1 < len(p.lines) {
		return p.lines[i+1] - p.lines[i] - len(p.line(i))
	}
	return 0
}
