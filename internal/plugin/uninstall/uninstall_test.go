package uninstall

import (
	"strings"
	"testing"

	"github.com/spillway-io/spillway/config"
)

// TestInOrder: the manager is deleted first, the namespace last, and the CustomResourceDefinitions before it.
func TestInOrder(t *testing.T) {
	shipped, err := config.Objects("default")
	if err != nil {
		t.Fatal(err)
	}
	ordered := inOrder(shipped)
	if ordered[0].GetKind() != "Namespace" || ordered[1].GetKind() != "CustomResourceDefinition" || ordered[len(ordered)-1].GetKind() != "Deployment" || len(ordered) != len(shipped) {
		t.Errorf("the first is %s, the second %s, the last %s", ordered[0].GetKind(), ordered[1].GetKind(), ordered[len(ordered)-1].GetKind())
	}
}

func TestStillUsed(t *testing.T) {
	for want, all := range map[string][2][]string{
		"the namespaces a, b are offloaded":                              {{"a", "b"}, nil},
		"the providers eu are bound":                                     {nil, {"eu"}},
		"the namespaces a are offloaded, and the providers eu are bound": {{"a"}, {"eu"}},
	} {
		if got := stillUsed(all[0], all[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAgreed: on a terminal it always asks, and names the cluster. Without one, it continues if nothing is
// used.
func TestAgreed(t *testing.T) {
	yes, no := func(string) bool { return true }, func(string) bool { return false }
	tests := map[string]struct {
		used string
		all  bool
		ask  func(string) bool
		want string
	}{
		"no terminal, nothing is used":  {"", false, nil, ""},
		"no terminal, something is":     {"used", false, nil, "used, in context home; --all"},
		"no terminal, and it is meant":  {"used", true, nil, ""},
		"a terminal, nothing is used":   {"", false, no, "nothing was changed in context home"},
		"a terminal, and it was meant":  {"used", true, no, "nothing was changed in context home"},
		"a terminal, and the user says": {"used", false, yes, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var ask func(string) bool
			if test.ask != nil {
				ask = func(question string) bool {
					if !strings.Contains(question, "context home") || !strings.Contains(question, test.used) {
						t.Errorf("it asks %q", question)
					}
					return test.ask(question)
				}
			}
			err := agreed(test.used, "context home", test.all, ask)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
