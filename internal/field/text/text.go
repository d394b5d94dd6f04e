// Package text makes foreign strings safe to show in a condition, an event, a log or a terminal.
package text

import (
	"fmt"
	"strings"
	"unicode"
)

// Clean puts s on one line and replaces every unprintable character by a space. Examples are escape
// sequences for a terminal, and characters that change the direction of text.
func Clean(s string) string { return clean(s, "") }

// CleanLines is like Clean, but keeps line breaks and tabs. A caller that prints the result on one line
// must Clean it again.
func CleanLines(s string) string { return clean(s, "\n\t") }

func clean(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			return r
		}
		return ' '
	}, s)
}

// Few names at most that many things, and counts the others.
func Few(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Short cleans s and shortens it to 64 characters, the length of a name in a message.
func Short(s string) string { return Bound(s, 64) }

// Bound cleans s and shortens it to at most that many characters. A shortened text ends in "…".
func Bound(s string, most int) string {
	s = Clean(s)
	if r := []rune(s); len(s) > most && len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
