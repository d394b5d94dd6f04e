package performance

import (
	"strings"
	"testing"
)

func TestFigure(t *testing.T) {
	for want, f := range map[string]figure{
		"7":                          count("", 7),
		"7 (= 7)":                    count("", 7).exactly(7),
		"7 (= 8) BROKEN":             count("", 7).exactly(8),
		"7 (≤ 7)":                    count("", 7).atMost(7),
		"8 (≤ 7) BROKEN":             count("", 8).atMost(7),
		"0.50 (0.25 to 0.75)":        measured("", "%.2f", 0.5).between(0.25, 0.75),
		"0.20 (0.25 to 0.75) BROKEN": measured("", "%.2f", 0.2).between(0.25, 0.75),
	} {
		if got := f.String(); got != want || f.broken() != strings.HasSuffix(want, "BROKEN") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTable(t *testing.T) {
	text, broken := table("pods",
		column{"one", []figure{count("reads", 0).exactly(0), count("writes", 5)}},
		column{"two", []figure{count("reads", 2).exactly(0), measured("seconds", "%.1f", 3)}})
	const want = "pods      one       two\n" +
		"reads     0 (= 0)   2 (= 0) BROKEN\n" +
		"writes    5         \n" +
		"seconds             3.0\n"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(broken) != 1 || broken[0].Error() != "pods, two: reads: 2 (= 0) BROKEN" {
		t.Errorf("got %v, want one error", broken)
	}
}
