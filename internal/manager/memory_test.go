package manager

import (
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	for name, test := range map[string]struct {
		container, set string
		want           int64
	}{
		"a tenth is left":         {"1000", "", 900},
		"a GiB":                   {"1073741824", "", 966367638},
		"said otherwise":          {"1000", "500", 0},
		"nothing is said":         {"", "", 0},
		"no number":               {"1Gi", "", 0},
		"less than nothing":       {"-1", "", 0},
		"more than there may be":  {"9223372036854775808", "", 0},
		"as much as there may be": {"9223372036854775807", "", math.MaxInt64 / 10 * 9},
	} {
		t.Run(name, func(t *testing.T) {
			if got := memoryLimit(test.container, test.set); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	LimitMemory(func(name string) string { return map[string]string{MemoryLimit: "4294967296"}[name] })
	if got := debug.SetMemoryLimit(-1); got != 3865470561 {
		t.Errorf("Go's limit is %d", got)
	}
}

// TestTheManifestSaysTheLimit compares the shipped manifest with the variable that the manager reads.
func TestTheManifestSaysTheLimit(t *testing.T) {
	manifest, err := os.ReadFile("../../config/manager/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := "- name: " + MemoryLimit + "\n          valueFrom:\n            resourceFieldRef:\n              containerName: manager\n              resource: limits.memory\n"
	if !strings.Contains(string(manifest), want) {
		t.Errorf("the manifest does not have\n%s", want)
	}
}
