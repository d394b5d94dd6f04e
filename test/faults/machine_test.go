//go:build faults

package faults

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
)

var modelName = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

// machine says what the faults were run on.
func machine() string {
	cpu := "unknown CPU"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := modelName.FindSubmatch(raw); found != nil {
			cpu = string(found[1])
		}
	}
	return fmt.Sprintf("%d cores (%s), %s", runtime.NumCPU(), cpu, runtime.Version())
}
