package performance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPodsCases(t *testing.T) {
	const all = "100/plain/1/direct 500/plain/1/direct 2000/plain/1/direct 100/shared/1/direct 500/shared/1/direct 2000/shared/1/direct " +
		"100/plain/1/scheduler 500/plain/1/scheduler 2000/plain/1/scheduler 100/shared/1/scheduler 500/shared/1/scheduler " +
		"100/plain/3/direct 500/plain/3/direct 2000/plain/3/direct 100/shared/3/direct 500/shared/3/direct " +
		"100/plain/3/scheduler 500/plain/3/scheduler 100/shared/3/scheduler 500/shared/3/scheduler"
	for name, test := range map[string]struct{ pods, cases, want string }{
		"all":                       {"", "", all},
		"sizes":                     {"7", "", "7/plain/1/direct 7/shared/1/direct 7/plain/1/scheduler 7/shared/1/scheduler 7/plain/3/direct 7/shared/3/direct 7/plain/3/scheduler 7/shared/3/scheduler"},
		"cases at all sizes":        {"", "shared/3/scheduler", "100/shared/3/scheduler 500/shared/3/scheduler 2000/shared/3/scheduler"},
		"in order of the providers": {"5000", "plain/3/direct,shared/2/direct", "5000/shared/2/direct 5000/plain/3/direct"},
	} {
		t.Run(name, func(t *testing.T) {
			cases, err := podsCases(test.pods, test.cases)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range cases {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(strings.Fields(test.want), got); diff != "" {
				t.Errorf("cases (-want +got):\n%s", diff)
			}
		})
	}
	for name, test := range map[string]struct{ pods, cases string }{
		"no number":    {"many", ""},
		"no pods":      {"0", ""},
		"no kind":      {"", "plain"},
		"no providers": {"", "plain/0/direct"},
	} {
		t.Run(name, func(t *testing.T) {
			if cases, err := podsCases(test.pods, test.cases); err == nil {
				t.Errorf("got %v, want an error", cases)
			}
		})
	}
}

func TestDrawable(t *testing.T) {
	for name, test := range map[string]struct {
		cases, ways string
		want        string // Part of the error; none if empty.
	}{
		"all":                       {"", "", ""},
		"the plainest is enough":    {"shared/3/direct,plain/1/direct", "floor,spillway,provider", ""},
		"without the plainest case": {"shared/1/direct,plain/1/scheduler,plain/3/direct", "", "plain/1/direct"},
		"without the comparisons":   {"", "spillway", "compare with floor"},
		"without the provider":      {"", "spillway,floor", "compare with provider"},
		"no such way":               {"", "spilway", `"spilway" is not`},
	} {
		t.Run(name, func(t *testing.T) {
			cases, err := podsCases("", test.cases)
			if err != nil {
				t.Fatal(err)
			}
			ways, err := podWays(test.ways)
			if err == nil {
				err = drawable(cases, ways)
			}
			if (err != nil) != (test.want != "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want an error about %q", err, test.want)
			}
		})
	}
}
