// Package docs writes measurements into the documents: tables between their marks, and the machine.
package docs

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes where a measurement ran.
type Machine struct {
	CPU    string
	Cores  int
	Memory string
	Go     string
	// Kubernetes is the version of the consumer and the providers, if there were any.
	Kubernetes string
}

// ThisMachine describes this machine, as far as /proc shows it.
func ThisMachine(kubernetes string) Machine {
	m := Machine{CPU: "unknown CPU", Cores: runtime.NumCPU(), Memory: "unknown memory", Go: runtime.Version(), Kubernetes: kubernetes}
	if name := valueIn("/proc/cpuinfo", "model name"); name != "" {
		m.CPU = name
	}
	var kib int
	if _, err := fmt.Sscanf(valueIn("/proc/meminfo", "MemTotal"), "%d kB", &kib); err == nil {
		m.Memory = fmt.Sprintf("%d GiB", (kib+1<<19)>>20)
	}
	return m
}

func (m Machine) String() string {
	text := fmt.Sprintf("%d cores (%s), %s, %s", m.Cores, m.CPU, m.Memory, m.Go)
	if m.Kubernetes != "" {
		text += ", Kubernetes " + m.Kubernetes
	}
	return text
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
