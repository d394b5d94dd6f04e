package text

import "testing"

func TestBound(t *testing.T) {
	for name, test := range map[string]struct {
		got, want string
	}{
		"one line":            {Clean("a\nb\tc"), "a b c"},
		"its lines":           {CleanLines("a\nb\tc\x1b"), "a\nb\tc "},
		"terminals":           {Clean("\x1b[2J\u202e"), " [2J "},
		"short enough":        {Bound("äöü", 3), "äöü"},
		"too long":            {Bound("äöüß", 3), "äö…"},
		"cleaned, then short": {Bound("a\x00", 2), "a "},
		"none of many":        {Few(nil, 2), ""},
		"few":                 {Few([]string{"a", "b"}, 2), "a, b"},
		"too many":            {Few([]string{"a", "b", "c", "d"}, 2), "a, b, and 2 more"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}
