package precondition

import (
	"testing"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestExactly(t *testing.T) {
	node := builder.Node("a").Obj()
	got := Exactly(node)
	node.UID = "changed"
	if *got.UID != "uid-of-node-a" || got.ResourceVersion != nil {
		t.Errorf("got %v", got)
	}
}
