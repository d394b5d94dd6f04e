package clusters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running or stopped process, not one that has ended.
type process struct {
	pid       int
	component Component
}

// processesIn returns the processes of the cluster in dir. kwokctl starts every program through a link in
// dir/bin, so the path identifies the cluster. PID files are not enough: they may be lost, or name another
// process that now has the ID.
func processesIn(dir string) ([]process, error) {
	commands, err := commandLines()
	if err != nil {
		return nil, fmt.Errorf("listing the processes of the cluster in %s: %w", dir, err)
	}
	var found []process
	for pid, program := range commands {
		if filepath.Dir(program) != filepath.Join(dir, "bin") {
			continue
		}
		component := Component(filepath.Base(program))
		if slices.Contains(AllComponents(), component) {
			found = append(found, process{pid: pid, component: component})
		}
	}
	return found, nil
}

// commandLines returns the program's path of every process, as it was started.
func commandLines() (map[int]string, error) {
	entries, err := os.ReadDir("/proc")
	if errors.Is(err, os.ErrNotExist) {
		return commandLinesFromPS()
	}
	if err != nil {
		return nil, err
	}
	commands := map[int]string{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// Empty for kernel threads and zombies, missing for processes that have ended.
		raw, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if program, _, _ := bytes.Cut(raw, []byte{0}); err == nil && len(program) > 0 {
			commands[pid] = string(program)
		}
	}
	return commands, nil
}

// commandLinesFromPS is for systems without /proc (macOS).
func commandLinesFromPS() (map[int]string, error) {
	out, err := exec.Command("ps", "-axww", "-o", "pid=,stat=,command=").Output()
	if err != nil {
		return nil, fmt.Errorf("running ps: %w", err)
	}
	commands := map[int]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || strings.HasPrefix(fields[1], "Z") {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil {
			commands[pid] = fields[2]
		}
	}
	return commands, nil
}

// Processes returns the IDs of the running processes that were started with this path of a program. The demo
// finds its manager with it.
func Processes(program string) ([]int, error) {
	commands, err := commandLines()
	if err != nil {
		return nil, fmt.Errorf("looking for processes of %s: %w", program, err)
	}
	var pids []int
	for pid, name := range commands {
		if name == program {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// stopped reports whether all threads of p have stopped after a SIGSTOP. Without /proc it cannot know, and
// returns true.
func (p process) stopped() bool {
	stats, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.pid), "task", "*", "stat"))
	if err != nil {
		return true
	}
	for _, stat := range stats {
		raw, err := os.ReadFile(stat)
		// The state is the letter after the name in parentheses.
		i := bytes.LastIndexByte(raw, ')')
		if err == nil && i+2 < len(raw) && raw[i+2] != 'T' {
			return false
		}
	}
	return true
}

// signal sends s to the running process of component.
func (c *Cluster) signal(component Component, s syscall.Signal) error {
	processes, err := processesIn(c.dir)
	if err != nil {
		return err
	}
	for _, p := range processes {
		if p.component == component {
			if err := syscall.Kill(p.pid, s); err != nil {
				return fmt.Errorf("cluster %s: sending %s to %s (pid %d): %w", c.Name, s, component, p.pid, err)
			}
			return nil
		}
	}
	return fmt.Errorf("cluster %s: %s is not running", c.Name, component)
}

// kill ends the processes of the given components with SIGKILL, and returns when they have ended. Ended
// processes are no error.
func (c *Cluster) kill(ctx context.Context, components ...Component) error {
	const patience = 10 * time.Second
	return poll(ctx, patience, func(context.Context) error {
		processes, err := processesIn(c.dir)
		if err != nil {
			return err
		}
		var left []error
		for _, p := range processes {
			if !slices.Contains(components, p.component) {
				continue
			}
			left = append(left, fmt.Errorf("cluster %s: %s (pid %d) does not end", c.Name, p.component, p.pid))
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				left = append(left, fmt.Errorf("killing pid %d: %w", p.pid, err))
			}
		}
		return errors.Join(left...)
	})
}

// forgetPIDs removes kwokctl's PID files of components that do not run. Otherwise kwokctl would mistake a
// zombie or a new process with the ID for them.
func (c *Cluster) forgetPIDs() error {
	processes, err := processesIn(c.dir)
	if err != nil {
		return err
	}
	for _, component := range AllComponents() {
		if slices.ContainsFunc(processes, func(p process) bool { return p.component == component }) {
			continue
		}
		if err := os.Remove(c.pidFile(component)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
	}
	return nil
}
