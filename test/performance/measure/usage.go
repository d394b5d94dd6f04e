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

// Usage is what a process has used of the machine.
type Usage struct {
	// CPUSeconds since it started, in the kernel and out of it.
	CPUSeconds float64
	// RSS is the memory that it has now, PeakRSS the most that it has had, in
	// bytes, since its start or the last ResetPeak.
	RSS, PeakRSS int64
}

// Usage is what the manager has used so far.
func (m *Manager) Usage() (Usage, error) { return UsageOf(m.PID()) }

// UsageOf is what a process has used so far.
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

// CPUSecondsOf is what the processes have used that were started by this path of a program.
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

// ResetPeak makes PeakRSS begin anew.
func (m *Manager) ResetPeak() error {
	const resetPeak = "5" // See proc(5), clear_refs.
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.PID()), []byte(resetPeak), 0)
}

// HeapAfterGC is the memory that live objects of the manager take, in bytes: it
// is made to collect garbage, twice, because what has a finalizer goes only with
// the second time.
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

// Stacks is the memory of the manager's goroutines, in bytes.
func (m *Manager) Stacks(ctx context.Context) (int64, error) {
	raw, err := m.profile(ctx, "heap?debug=1")
	if err != nil {
		return 0, err
	}
	return figureIn(raw, "# Stack = %d /")
}

// Goroutines are those of the manager, by the function that they wait in, or the first one
// below it that is not of Go's own library.
func (m *Manager) Goroutines(ctx context.Context) (map[string]int, error) {
	raw, err := m.profile(ctx, "goroutine?debug=1")
	if err != nil {
		return nil, err
	}
	return goroutinesIn(raw)
}

// figureIn finds a figure in a profile in text.
func figureIn(profile []byte, line string) (int64, error) {
	for lines := bufio.NewScanner(bytes.NewReader(profile)); lines.Scan(); {
		var figure int64
		if _, err := fmt.Sscanf(lines.Text(), line, &figure); err == nil {
			return figure, nil
		}
	}
	return 0, fmt.Errorf("the profile has no line %q", line)
}

// goroutinesIn counts those of a profile in text: a line "7 @ 0x…", then one for each frame,
// "#	0x…	function+0x…	file:line", and an empty one.
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

// waitsIn is the first function whose module has a domain, or the last one.
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
