//go:build seeded

package seeded_test

import (
	"testing"

	"github.com/spillway-io/spillway/test/faults/seeded"
)

func TestSwitch(t *testing.T) {
	t.Cleanup(func() { seeded.Switch("") })
	for _, d := range seeded.All() {
		seeded.Switch(d.Bug)
		for _, other := range seeded.All() {
			if seeded.On(other.Bug) != (other.Bug == d.Bug) {
				t.Errorf("%s was switched on; %s is on: %v", d.Bug, other.Bug, seeded.On(other.Bug))
			}
		}
		if !seeded.Once(d.Bug, 1) || seeded.Once(d.Bug, 1) || !seeded.Once(d.Bug, 2) {
			t.Errorf("%s does not happen once for each key", d.Bug)
		}
	}
	seeded.Switch("")
	if seeded.On(seeded.All()[0].Bug) {
		t.Error("a bug that was switched off is on")
	}
}
