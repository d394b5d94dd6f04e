package syncer

import (
	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/syncer/memory"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func testMemory() (*memory.Memory, *testclock.FakeClock) {
	clock := testclock.NewFakeClock(builder.Epoch)
	return memory.New(clock), clock
}
