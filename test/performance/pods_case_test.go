package performance

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPodsCases(t *testing.T) {
	const all = "500/plain/1/direct 2000/plain/1/direct 500/shared/1/direct 2000/shared/1/direct " +
		"500/plain/1/scheduler 2000/plain/1/scheduler 500/plain/3/direct 2000/plain/3/direct"
	for name, test := range map[string]struct{ pods, cases, want string }{
		"all":                       {"", "", all},
		"cases at all sizes":        {"", "shared/3/scheduler", "500/shared/3/scheduler 2000/shared/3/scheduler"},
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

func TestPodWays(t *testing.T) {
	for value, want := range map[string][]Way{"": {Floor, Ours, Direct}, "spillway,floor": {Ours, Floor}, "spilway": nil} {
		if got, err := podWays(value); !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%q: got %v, %v, want %v", value, got, err, want)
		}
	}
}
