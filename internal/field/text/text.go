// Package text makes strings that somebody else wrote safe to show: in a condition, an event, a log
// or a terminal.
package text

import (
	"strings"
	"unicode"
)

// Clean puts s on one line and replaces every character that cannot be printed by a space: escape
// sequences for a terminal, and characters that change the direction of text.
func Clean(s string) string { return clean(s, "") }

// CleanLines does the same, but keeps line breaks and tabs. Code that prints the result on one line
// cleans it once more.
func CleanLines(s string) string { return clean(s, "\n\t") }

func clean(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			return r
		}
		return ' '
	}, s)
}

// Short cleans s and bounds it to 64 characters, the length of a name in a message.
func Short(s string) string { return Bound(s, 64) }

// Bound cleans s and shortens it to at most so many characters. A shortened text ends in "…".
func Bound(s string, most int) string {
	s = Clean(s)
	if r := []rune(s); len(s) > most && len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
