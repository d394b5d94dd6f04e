package clusters

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !testing.Short() {
		AwaitTurn()
	}
	os.Exit(m.Run())
}
