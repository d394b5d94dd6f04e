//go:build !seeded

package seeded_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/internal/seeded"
)

func TestAllAreOff(t *testing.T) {
	for _, d := range seeded.All() {
		if seeded.On(d.Bug) || seeded.Once(d.Bug, d.Bug) {
			t.Errorf("%s is on", d.Bug)
		}
	}
}

// Without the tag there is nothing in the manager that could switch a bug on, and
// nothing that we ship is built with it.
func TestTheManagerHasNoSwitch(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,GoFiles,IgnoredGoFiles", "../../cmd/manager").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var pkg struct {
			ImportPath              string
			GoFiles, IgnoredGoFiles []string
		}
		if err := decoder.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(pkg.ImportPath, "/internal/seeded") {
			found = true
			if slices.Contains(pkg.GoFiles, "on.go") || !slices.Contains(pkg.IgnoredGoFiles, "on.go") {
				t.Errorf("on.go is built into the manager: %v", pkg.GoFiles)
			}
		}
	}
	if !found {
		t.Error("the manager does not know of seeded bugs at all: this test sees nothing")
	}
	for _, recipe := range []string{"../../Dockerfile", "../../hack/install-yaml.sh"} {
		text, err := os.ReadFile(recipe)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "seeded") {
			t.Errorf("%s speaks of seeded bugs", recipe)
		}
	}
}
