package measure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spillway-io/spillway/test/clusters"
)

// startPatience is how long a manager may take until it serves its profiles. endPatience is how long it may
// take to end.
const (
	startPatience = time.Minute
	endPatience   = time.Minute
)

// Options say how to start a manager.
type Options struct {
	// Binary is the manager's program. Default: bin/manager in the repository, from make build.
	Binary string
	// Kubeconfig has the manager's identity in the consumer.
	Kubeconfig []byte
	// ConsumerID names the consumer in the names of remote namespaces.
	ConsumerID string
	// Log is the file to which the manager's log is appended.
	Log string
	// Kubelet serves the kubelet API of virtual nodes at a free port of 127.0.0.1.
	Kubelet bool
}

// Manager is a process that runs bin/manager.
type Manager struct {
	command  *exec.Cmd
	profiles string // The URL of /debug/pprof.
	files    string // A temporary directory of this package.
	once     sync.Once
	ended    chan struct{}
	err      error // How it ended, once ended is closed.
}

// Start starts a manager, and returns when it serves its profiles. By then it has only begun to connect to
// the clusters. It ends with Stop, not with ctx.
func Start(ctx context.Context, o Options) (*Manager, error) {
	m := &Manager{ended: make(chan struct{})}
	if err := m.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(m.files))
	}
	if err := m.run(o.Log); err != nil {
		return nil, errors.Join(err, os.RemoveAll(m.files))
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := m.untilServing(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the manager (its log is %s): %w", o.Log, err), m.Stop())
	}
	return m, nil
}

// prepare writes the kubeconfig and builds the command.
func (m *Manager) prepare(ctx context.Context, o Options) error {
	if o.Binary == "" {
		root, err := clusters.Root()
		if err != nil {
			return err
		}
		o.Binary = filepath.Join(root, "bin", "manager")
	}
	var err error
	if m.files, err = os.MkdirTemp("", "spillway-manager-"); err != nil {
		return fmt.Errorf("making a directory for the manager: %w", err)
	}
	kubeconfig := filepath.Join(m.files, "kubeconfig")
	if err := os.WriteFile(kubeconfig, o.Kubeconfig, 0o600); err != nil {
		return fmt.Errorf("writing the manager's kubeconfig: %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	m.profiles = "http://" + address + "/debug/pprof"
	m.command = exec.Command(o.Binary, "--kubeconfig", kubeconfig, "--cluster-id", o.ConsumerID,
		"--pprof-bind-address", address, "--metrics-bind-address", "0", "--health-probe-bind-address", "0")
	if o.Kubelet {
		if address, err = freeAddress(ctx); err != nil {
			return err
		}
		host, port, _ := net.SplitHostPort(address) // It has both.
		m.command.Args = append(m.command.Args, "--kubelet-address", host, "--kubelet-port", port)
	}
	return nil
}

// freeAddress returns an address that nothing listens on. If something takes it first, the manager ends at
// once with an error.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// run starts the process. It does not outlive this one.
func (m *Manager) run(log string) error {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the manager's log: %w", err)
	}
	defer file.Close()
	m.command.Stdout, m.command.Stderr = file, file
	m.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.command.Start(); err != nil {
		return fmt.Errorf("starting the manager, which make build makes: %w", err)
	}
	go func() {
		m.err = m.command.Wait()
		close(m.ended)
	}()
	return nil
}

// untilServing waits until the manager answers.
func (m *Manager) untilServing(ctx context.Context) error {
	const interval = 20 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		_, err := m.profile(ctx, "cmdline")
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-m.ended:
			return fmt.Errorf("it has ended: %w", errors.Join(m.err, err))
		case <-ctx.Done():
			return err
		}
	}
}

// PID returns the process ID.
func (m *Manager) PID() int { return m.command.Process.Pid }

// Stop asks the manager to end, and waits for it. If it does not end, Stop kills it and returns an error.
// Only the first call has an effect.
func (m *Manager) Stop() error {
	var err error
	m.once.Do(func() {
		err = m.stop()
		err = errors.Join(err, os.RemoveAll(m.files))
	})
	return err
}

func (m *Manager) stop() error {
	select {
	case <-m.ended:
		return fmt.Errorf("the manager has ended by itself: %w", errors.Join(m.err, errors.New(m.command.ProcessState.String())))
	default:
	}
	if err := m.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("asking the manager to end: %w", err)
	}
	select {
	case <-m.ended:
		return nil // Its exit status does not matter: it was told to end.
	case <-time.After(endPatience):
	}
	err := m.command.Process.Kill()
	<-m.ended
	return errors.Join(fmt.Errorf("the manager did not end in %s, and was killed", endPatience), err)
}
