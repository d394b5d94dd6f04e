package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// reaper starts the programs of process 1, and waits for all of its children. Processes without a parent,
// such as the shims of containerd, become children of process 1, and would stay as zombies. That rules out
// os/exec, which would wait for single children at the same time.
type reaper struct {
	mu      sync.Mutex
	started map[int]chan syscall.WaitStatus
}

func newReaper() *reaper { return &reaper{started: map[int]chan syscall.WaitStatus{}} }

// start starts a command, whose output goes to a file. The channel receives its exit status.
func (r *reaper) start(command []string, log string) (<-chan syscall.WaitStatus, error) {
	program, err := exec.LookPath(command[0])
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()

	// With the lock, so that the status does not come before it is expected.
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(program, command, &syscall.ProcAttr{
		Env:   []string{"PATH=" + os.Getenv("PATH")},
		Files: []uintptr{null.Fd(), out.Fd(), out.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	if len(r.started) == 0 {
		go r.reap()
	}
	ended := make(chan syscall.WaitStatus, 1)
	r.started[pid] = ended
	return ended, nil
}

// reap runs from the first start on, as long as there are children.
func (r *reaper) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		r.mu.Lock()
		if ended, ok := r.started[pid]; ok {
			ended <- status
		}
		r.mu.Unlock()
	}
}
