package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spillway-io/spillway/test/clusters"
)

const (
	managerHost = "127.0.0.1"
	consumerID  = "demo"
	// stopPatience is how long the manager may take to end after the demo asks it to.
	stopPatience  = 20 * time.Second
	readyPatience = 60 * time.Second
	pollInterval  = 200 * time.Millisecond
)

func (d *demo) managerLog() string        { return filepath.Join(d.dir, "manager.log") }
func (d *demo) managerPID() string        { return filepath.Join(d.dir, "manager.pid") }
func (d *demo) managerKubeconfig() string { return filepath.Join(d.dir, "manager.kubeconfig") }

// managerProgram is a link to bin/manager. Its path identifies a running manager as the demo's, even if the
// file with the process ID is lost.
func (d *demo) managerProgram() string { return filepath.Join(d.dir, "manager") }

// restartManager always starts a new manager, which uses the current bin/manager and a new token. This costs
// nothing, because a restart writes nothing to any cluster.
func (d *demo) restartManager(ctx context.Context) error {
	if err := d.stopManager(ctx); err != nil {
		return err
	}
	ports, err := freePorts(3)
	if err != nil {
		return fmt.Errorf("finding ports for the manager: %w", err)
	}
	probes := net.JoinHostPort(managerHost, ports[0])
	kubeconfig, err := d.clusters[consumer].KubeconfigFor(ctx, systemNamespace, managerServiceAccount, tokenLifetime)
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.managerKubeconfig(), kubeconfig, 0o600); err != nil {
		return fmt.Errorf("writing the manager's kubeconfig: %w", err)
	}
	ended, err := d.startManager(
		"--health-probe-bind-address", probes,
		"--metrics-bind-address", net.JoinHostPort(managerHost, ports[1]),
		"--kubelet-address", managerHost, "--kubelet-port", ports[2],
	)
	if err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	if err := d.waitForManager(ctx, probes, ended); err != nil {
		return fmt.Errorf("%w; the last lines of %s:\n%s", err, d.relative(d.managerLog()), d.managerLogTail())
	}
	d.say("the manager runs; its log is %s", d.relative(d.managerLog()))
	return nil
}

// freePorts returns ports on which nobody listens, because another demo may run on this machine.
func freePorts(count int) ([]string, error) {
	var ports []string
	for range count {
		listener, err := net.Listen("tcp", net.JoinHostPort(managerHost, "0"))
		if err != nil {
			return nil, err
		}
		defer listener.Close() // At the end, so that no port is found twice.
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// startManager starts the manager in its own session, so that it outlives this command and the terminal. The
// channel receives the result if the manager ends.
func (d *demo) startManager(addresses ...string) (<-chan error, error) {
	if err := os.Remove(d.managerProgram()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := os.Symlink(filepath.Join(d.root, "bin", "manager"), d.managerProgram()); err != nil {
		return nil, err
	}
	if err := os.Rename(d.managerLog(), d.managerLog()+".previous"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	log, err := os.Create(d.managerLog())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(d.managerProgram(), append(addresses,
		"--kubeconfig", d.managerKubeconfig(),
		"--namespace", systemNamespace,
		"--cluster-id", consumerID,
		"--leader-elect", // kubectl spillway sees by the Lease that the manager runs.
	)...)
	cmd.Dir = d.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(d.managerPID(), []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill())
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}

func (d *demo) waitForManager(ctx context.Context, probes string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	var missing error
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the manager has ended: %w", cmpErr(err, errors.New("exit status 0")))
		case <-ctx.Done():
			return fmt.Errorf("the manager is not ready: %w", cmpErr(missing, ctx.Err()))
		case <-time.After(pollInterval):
		}
		if missing = checkURL(ctx, "http://"+probes+"/readyz"); missing == nil {
			return nil
		}
	}
}

// stopManager asks every manager of the demo to end, and kills those that do not.
func (d *demo) stopManager(ctx context.Context) error {
	begin := time.Now()
	for signal := syscall.SIGTERM; ; {
		pids, err := clusters.Processes(d.managerProgram())
		if err != nil || len(pids) == 0 {
			_ = os.Remove(d.managerPID())
			return err
		}
		if time.Since(begin) > stopPatience {
			signal = syscall.SIGKILL
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("stopping the manager (pid %d): %w", pid, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopping the manager: %w", ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

func (d *demo) managerRuns() error {
	pids, err := clusters.Processes(d.managerProgram())
	if err == nil && len(pids) == 0 {
		err = fmt.Errorf("the manager has ended; the last lines of %s:\n%s", d.relative(d.managerLog()), d.managerLogTail())
	}
	return err
}

func (d *demo) managerLogTail() string {
	const count = 15
	raw, err := os.ReadFile(d.managerLog())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

func checkURL(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

// cmpErr returns the first of two errors that is not nil.
func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
