// Package pages writes what tests have found into pages of the documentation.
package pages

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes this machine, as far as /proc shows it.
func Machine() string {
	cpu, memory := "unknown CPU", "unknown memory"
	if name := valueIn("/proc/cpuinfo", "model name"); name != "" {
		cpu = name
	}
	var kib int
	if _, err := fmt.Sscanf(valueIn("/proc/meminfo", "MemTotal"), "%d kB", &kib); err == nil {
		memory = fmt.Sprintf("%d GiB", (kib+1<<19)>>20)
	}
	return fmt.Sprintf("%d cores (%s), %s, %s", runtime.NumCPU(), cpu, memory, runtime.Version())
}

// valueIn returns the value after "key:" in a file of /proc, or "".
func valueIn(file, key string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
