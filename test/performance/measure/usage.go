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
func (m *Manager) Usage() (Usage, error) {
	process, err := procfs.NewProc(m.PID())
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
		if heap, err = heapIn(raw); err != nil {
			return 0, err
		}
	}
	return heap, nil
}

// heapIn finds what is allocated in a heap profile in text.
func heapIn(profile []byte) (int64, error) {
	for lines := bufio.NewScanner(bytes.NewReader(profile)); lines.Scan(); {
		var heap int64
		if _, err := fmt.Sscanf(lines.Text(), "# HeapAlloc = %d", &heap); err == nil {
			return heap, nil
		}
	}
	return 0, errors.New("the heap profile does not say how much is allocated")
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
