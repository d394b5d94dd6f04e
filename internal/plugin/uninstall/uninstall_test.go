package uninstall

import (
	"testing"

	"github.com/spillway-io/spillway/config"
)

// TestInOrder: the manager goes first, the namespace last, and before it the kinds.
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
