package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// boxEnv tells a program that calls Main to become process 1 of a node. Its value is the path of the
// settings.
const boxEnv = "SPILLWAY_NODE_SETTINGS"

// goOn tells the box that its namespaces are ready.
const goOn = "\n"

// endPatience is how long the box may take to end. The kernel ends everything in it, which takes a moment for
// each mount.
const endPatience = 20 * time.Second

// box is the process that contains all other processes of a node.
type box struct {
	// input stays open as long as the box should live.
	input io.Closer
	ended chan struct{}
	kill  func() error

	mu  sync.Mutex
	err error
}

// startBox starts this program again in new namespaces. When join has prepared these, it tells the box to go
// on. The box's output goes to the file log.
func startBox(dir, log string, s settings, join func(pid int) error) (*box, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	command := exec.Command(self)
	// The node must not see a kubeconfig or proxy of the user.
	command.Env = []string{boxEnv + "=" + file, "PATH=" + os.Getenv("PATH")}
	command.Dir = dir
	command.Stdout, command.Stderr = out, out
	command.SysProcAttr = namespaces()
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting a process in namespaces of its own: %w", err)
	}
	b := &box{input: input, ended: make(chan struct{}), kill: command.Process.Kill}
	go b.wait(command)
	err = join(command.Process.Pid)
	if err == nil {
		_, err = input.Write([]byte(goOn))
	}
	return b, err
}

func (b *box) wait(command *exec.Cmd) {
	err := command.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = errors.Join(errors.New("the node has ended"), err)
	close(b.ended)
}

// running returns how the box has ended, or nil.
func (b *box) running() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// stop ends the box and everything in it, and waits until it has ended.
func (b *box) stop() error {
	_ = b.input.Close()
	select {
	case <-b.ended:
		return nil
	case <-time.After(endPatience / 2):
	}
	err := b.kill()
	select {
	case <-b.ended:
		return nil
	case <-time.After(endPatience / 2):
		return errors.Join(fmt.Errorf("its processes have not ended within %s", endPatience), err)
	}
}
