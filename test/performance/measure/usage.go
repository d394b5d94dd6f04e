package measure

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/procfs"
)

// Usage is the CPU time and memory of a process.
type Usage struct {
	// CPUSeconds since it started, in the kernel and in user mode.
	CPUSeconds float64
	// RSS is the current memory in bytes. PeakRSS is its maximum since the start or the last ResetPeak.
	RSS, PeakRSS int64
}

// Usage returns the manager's usage so far.
func (m *Manager) Usage() (Usage, error) { return UsageOf(m.PID()) }

// UsageOf returns the usage of a process so far.
func UsageOf(pid int) (Usage, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return Usage{}, fmt.Errorf("reading /proc: %w", err)
	}
	stat, err1 := process.Stat()
	status, err2 := process.NewStatus()
	if err := errors.Join(err1, err2); err != nil {
		return Usage{}, fmt.Errorf("reading /proc: %w", err)
	}
	return Usage{CPUSeconds: stat.CPUTime(), RSS: int64(status.VmRSS), PeakRSS: int64(status.VmHWM)}, nil
}

// CPUSecondsOf returns the CPU seconds of all processes that were started with this path of a program.
func CPUSecondsOf(program string) (float64, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, fmt.Errorf("reading /proc: %w", err)
	}
	seconds := 0.0
	for _, process := range all {
		if line, err := process.CmdLine(); err != nil || len(line) == 0 || line[0] != program {
			continue // It may have ended.
		}
		stat, err := process.Stat()
		if err != nil {
			return 0, fmt.Errorf("reading /proc: %w", err)
		}
		seconds += stat.CPUTime()
	}
	return seconds, nil
}

// ResetPeak resets PeakRSS.
func (m *Manager) ResetPeak() error {
	const resetPeak = "5" // See proc(5), clear_refs.
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.PID()), []byte(resetPeak), 0)
}

// HeapAfterGC returns the bytes of the manager's live objects. It triggers two garbage collections, because
// only the second one frees objects with finalizers.
func (m *Manager) HeapAfterGC(ctx context.Context) (int64, error) {
	var heap int64
	for range 2 {
		raw, err := m.profile(ctx, "heap?gc=1&debug=1")
		if err != nil {
			return 0, err
		}
		if heap, err = figureIn(raw, "# HeapAlloc = %d"); err != nil {
			return 0, err
		}
	}
	return heap, nil
}

// Stacks returns the bytes of the goroutines' stacks.
func (m *Manager) Stacks(ctx context.Context) (int64, error) {
	raw, err := m.profile(ctx, "heap?debug=1")
	if err != nil {
		return 0, err
	}
	return figureIn(raw, "# Stack = %d /")
}

// Goroutines counts the manager's goroutines by the function that they wait in. If that is in Go's library,
// the first caller outside of it counts.
func (m *Manager) Goroutines(ctx context.Context) (map[string]int, error) {
	raw, err := m.profile(ctx, "goroutine?debug=1")
	if err != nil {
		return nil, err
	}
	return goroutinesIn(raw)
}

// figureIn finds a figure in a profile in text form.
func figureIn(profile []byte, line string) (int64, error) {
	for lines := bufio.NewScanner(bytes.NewReader(profile)); lines.Scan(); {
		var figure int64
		if _, err := fmt.Sscanf(lines.Text(), line, &figure); err == nil {
			return figure, nil
		}
	}
	return 0, fmt.Errorf("the profile has no line %q", line)
}

// goroutinesIn counts the goroutines of a profile in text form. Each group has a line "7 @ 0x…", then a line
// "# 0x… function+0x… file:line" for each frame, and an empty line.
func goroutinesIn(profile []byte) (map[string]int, error) {
	want, err := figureIn(profile, "goroutine profile: total %d")
	if err != nil {
		return nil, err
	}
	all, total := map[string]int{}, 0
	for _, group := range strings.Split(string(profile), "\n\n") {
		group = strings.TrimPrefix(group, fmt.Sprintf("goroutine profile: total %d\n", want))
		lines := strings.Split(strings.TrimSpace(group), "\n")
		var n int
		if _, err := fmt.Sscanf(lines[0], "%d @", &n); err != nil {
			continue
		}
		all[waitsIn(lines[1:])] += n
		total += n
	}
	if total != int(want) {
		return nil, fmt.Errorf("the profile has %d goroutines and says %d", total, want)
	}
	return all, nil
}

// waitsIn returns the first function whose module has a domain, or else the last one.
func waitsIn(frames []string) string {
	function := ""
	for _, frame := range frames {
		fields := strings.Fields(frame)
		if len(fields) < 3 || fields[0] != "#" {
			continue // "# labels: …"
		}
		function, _, _ = strings.Cut(fields[2], "+0x")
		if module, _, ok := strings.Cut(function, "/"); ok && strings.Contains(module, ".") {
			break
		}
	}
	return function
}

// WriteProfile writes one of the manager's profiles, such as "heap?gc=1" or
// "profile?seconds=30", to a file for go tool pprof.
func (m *Manager) WriteProfile(ctx context.Context, profile, file string) error {
	raw, err := m.profile(ctx, profile)
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o600)
}

func (m *Manager) profile(ctx context.Context, name string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.profiles+"/"+name, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("asking the manager for the profile %s: %w", name, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the manager for the profile %s: %w", name, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(raw)))
	}
	if err != nil {
		return nil, fmt.Errorf("asking the manager for the profile %s: %w", name, err)
	}
	return raw, nil
}
