package cli

import (
	"bytes"
	"io"
	"os"
	"unicode"

	"golang.org/x/term"
)

// Terminal returns a writer that removes characters that control a terminal or the direction of text. Part of
// what a command prints comes from providers and teams.
func Terminal(to io.Writer) io.Writer {
	if _, already := to.(terminal); already {
		return to
	}
	return terminal{to}
}

type terminal struct{ raw io.Writer }

// Write implements io.Writer. A character must not be split between two calls.
func (t terminal) Write(text []byte) (int, error) {
	clean := bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if _, err := t.raw.Write(clean); err != nil {
		return 0, err
	}
	return len(text), nil
}

// eraseLine erases the last line, on a terminal.
func eraseLine(to io.Writer) {
	if t, ok := to.(terminal); ok {
		to = t.raw
	}
	_, _ = io.WriteString(to, "\r\x1b[K")
}

// isTerminal reports whether the writer is a terminal.
func isTerminal(to io.Writer) bool {
	if t, ok := to.(terminal); ok {
		to = t.raw
	}
	file, ok := to.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
