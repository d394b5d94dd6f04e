package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/clusters"
)

// binary is the manager that TestMain builds.
var binary string

// buildPatience is long enough for a machine that has not compiled any of the packages yet.
const buildPatience = 5 * time.Minute

// build builds the manager, without the race detector. These tests check only what is left after the manager
// dies, and other tests run it with the detector.
func build(dir string) error {
	root, err := clusters.Root()
	if err != nil {
		return err
	}
	binary = filepath.Join(dir, "manager")
	ctx, cancel := context.WithTimeoutCause(context.Background(), buildPatience, fmt.Errorf("it takes longer than %s", buildPatience))
	defer cancel()
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/manager")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the manager: %w\n%s", errors.Join(err, context.Cause(ctx)), out)
	}
	return nil
}

// process is one run of the manager.
type process struct {
	command *exec.Cmd
	log     string
}

// start starts the manager. If the test fails, its log is shown.
func start(t *testing.T, kubeconfig string, flags ...string) *process {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "manager-*.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{log: log.Name(), command: exec.Command(binary, append(flags, "--kubeconfig", kubeconfig, "--cluster-id", consumerID,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0")...)}
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
		if t.Failed() {
			t.Logf("the last lines of the manager with the process id %d:\n%s", p.command.Process.Pid, p.tail())
		}
	})
	return p
}

// kill ends the manager with SIGKILL, and returns when it is dead. It fails the test if the manager had
// already ended by itself.
func (p *process) kill(t *testing.T) {
	t.Helper()
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
	status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the manager was not killed, but ended by itself: %s\n%s", p.command.ProcessState, p.tail())
	}
}

func (p *process) tail() []byte {
	const most = 40
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-most):], []byte("\n"))
}

// says returns an error unless a word is in the manager's log.
func (p *process) says(word string) error {
	log, err := os.ReadFile(p.log)
	if err == nil && !bytes.Contains(log, []byte(word)) {
		err = fmt.Errorf("its log does not say %s", word)
	}
	return err
}
