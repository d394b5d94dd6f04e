package hosted

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApart(t *testing.T) {
	for list, want := range map[string][]string{
		"a":                       {"a"},
		`tags["a,b"],tags["c"].d`: {`tags["a,b"]`, `tags["c"].d`},
		`tags["a\",b"],c`:         {`tags["a\",b"]`, "c"},
	} {
		if diff := cmp.Diff(want, apart(list)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", list, diff)
		}
	}
}
