package controller

import (
	"strings"
	"testing"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// TestOverwritten: an event quotes both values, but no user data.
func TestOverwritten(t *testing.T) {
	tests := map[string]bool{"tags[\"owner\"]": true, `nodeGroups["a"].userData`: false}
	for path, quotes := range tests {
		text := overwritten(v1alpha1.Decision{Path: path, Take: v1alpha1.SideSpec, Kept: "ours", Lost: "theirs"})
		if strings.Contains(text, "ours") != quotes || strings.Contains(text, "theirs") != quotes || !strings.HasPrefix(text, path+": the spec wins") {
			t.Errorf("%s: %s", path, text)
		}
	}
}
