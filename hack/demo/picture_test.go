package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/test/order"
)

// recorded is what one run of the story has seen: bin/demo/spill.json.
func recorded(t *testing.T) []order.Event {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "spill.json"))
	if err != nil {
		t.Fatal(err)
	}
	var events []order.Event
	if err := json.Unmarshal(raw, &events); err != nil {
		t.Fatal(err)
	}
	return events
}

// TestPicture draws the picture of the documentation from what a run has seen. To renew both, tell the story, and copy
// spill.json and spill.svg from bin/demo.
func TestPicture(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "images", "spill.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), picture(recorded(t))); diff != "" {
		t.Errorf("docs/images/spill.svg (-want +got):\n%s", diff)
	}
	if found := order.Violations(recorded(t)); len(found) > 0 {
		t.Errorf("the run that the picture shows: %v", found)
	}
}

func TestBars(t *testing.T) {
	second := time.Second
	events := []order.Event{
		{Kind: order.Asked, N: 2}, {At: second, Kind: order.Placed, Pod: "a"}, {At: second, Kind: order.Placed, Pod: "b", Tier: 1},
		{At: 2 * second, Kind: order.Asked, N: 1}, {At: 3 * second, Kind: order.Leaves, Pod: "b", Tier: 1},
		{At: time.Hour, Kind: order.Asked, N: 9}, // Long after: 4 seconds are drawn of it, and 2 more at the end.
	}
	want := strings.Join([]string{
		" provider us |" + strings.Repeat(" ", 64) + "| at most 0",
		" provider eu |" + strings.Repeat(" ", 7) + strings.Repeat("█", 14) + strings.Repeat(" ", 43) + "| at most 1",
		" local nodes |" + strings.Repeat(" ", 7) + strings.Repeat("█", 57) + "| at most 1",
		"   asked for |2" + strings.Repeat(" ", 13) + "1" + strings.Repeat(" ", 34) + "9" + strings.Repeat(" ", 14) + "|", "",
	}, "\n")
	if diff := cmp.Diff(want, bars(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
