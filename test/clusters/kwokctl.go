package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kwokctl runs kwokctl for this cluster. kwokctl itself waits two minutes for a component that has ended at
// once. So this function watches the components, and stops waiting if one ends.
func (c *Cluster) kwokctl(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(c.watchForEnd(ctx)) }()

	cmd := exec.CommandContext(ctx, filepath.Join(c.binDir, "kwokctl"), append(args, "--name="+c.Name)...)
	cmd.Env = c.kwokctlEnv()
	cmd.WaitDelay = time.Second // its kubectl may still hold the pipe
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	var ended *fatalError
	if errors.As(context.Cause(ctx), &ended) {
		return ended
	}
	if ctx.Err() != nil {
		// Out of time: the log of a component that does not get ready says more than kwokctl's output.
		return fmt.Errorf("running kwokctl %s: %w\n%s", args[0], context.Cause(ctx), c.logTail(KubeAPIServer))
	}
	return fmt.Errorf("running kwokctl %s: %w\n%s", args[0], err, lastLines(string(out)))
}

// kwokctlEnv returns the environment without the user's own settings of kwok, and with this package's kubectl
// first in PATH.
func (c *Cluster) kwokctlEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "KWOK_") || strings.HasPrefix(v, "KUBECONFIG=") || strings.HasPrefix(v, "PATH=")
	})
	path := c.binDir + string(os.PathListSeparator) + os.Getenv("PATH")
	return append(env, "KWOK_WORKDIR="+c.root, "PATH="+path)
}

// watchForEnd returns an error if etcd or the API server has ended after kwokctl started it, and nil when ctx
// is done. Their clients are waitReady's job: they end by themselves if the API server is not ready in time.
//
// It relies on the process IDs that kwokctl records, not on processes that it has seen: a component that
// rejects its flags ends before anybody looks. A missing process counts only if it is still missing at the
// next look. While a program is being loaded, which takes a while on a busy machine, its process has no name
// yet.
func (c *Cluster) watchForEnd(ctx context.Context) error {
	const interval = 200 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	missing := map[process]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		// In this order: a recorded process was running before it was recorded.
		noted := c.notedPIDs()
		running, err := processesIn(c.dir)
		if err != nil {
			return err
		}
		for component, pid := range noted {
			if !slices.Contains(servers, component) {
				continue
			}
			one := process{pid: pid, component: component}
			switch {
			case slices.Contains(running, one):
				delete(missing, one)
			case missing[one]:
				return c.ended(component)
			default:
				missing[one] = true
			}
		}
	}
}

// notedPIDs returns the process IDs of the components that kwokctl has started. The processes may have ended;
// forgetPIDs removes the IDs of an earlier run.
func (c *Cluster) notedPIDs() map[Component]int {
	noted := map[Component]int{}
	for _, component := range AllComponents() {
		raw, err := os.ReadFile(c.pidFile(component))
		if err != nil {
			continue
		}
		// An incomplete file is read the next time. fatalError is an error that waiting does not help
		// against.
		if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
			noted[component] = pid
		}
	}
	return noted
}

func (c *Cluster) pidFile(component Component) string {
	return filepath.Join(c.dir, "pids", string(component)+".pid")
}

// A fatalError is one that waiting does not mend.
type fatalError struct {
	message string
	// again is set if another attempt may succeed.
	again bool
}

func (e *fatalError) Error() string { return e.message }

// ended returns the error for a component that should run and does not. Another attempt uses other ports.
func (c *Cluster) ended(component Component) error {
	tail := c.logTail(component)
	return &fatalError{
		message: fmt.Sprintf("cluster %s: %s has ended\n%s", c.Name, component, tail),
		again:   strings.Contains(tail, "address already in use"),
	}
}

func mayGoBetter(err error) bool {
	var fatal *fatalError
	return errors.As(err, &fatal) && fatal.again
}

// logTail quotes the end of a component's log, and says where the rest is.
func (c *Cluster) logTail(component Component) string {
	file := filepath.Join(c.Logs, string(component)+".log")
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Sprintf("(its log could not be read: %v)", err)
	}
	return fmt.Sprintf("the last lines of %s:\n%s", file, lastLines(string(raw)))
}

func lastLines(text string) string {
	const count, width = 12, 500
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-count):]
	for i, line := range lines {
		lines[i] = "    " + line[:min(len(line), width)]
	}
	return strings.Join(lines, "\n")
}

// keepLogs renames the logs of components that do not run: kwokctl overwrites them when it starts a component
// again.
func (c *Cluster) keepLogs() error {
	running, err := c.Running()
	if err != nil {
		return err
	}
	for _, component := range c.state.Components {
		if slices.Contains(running, component) {
			continue
		}
		name := filepath.Join(c.Logs, string(component))
		err := os.Rename(name+".log", name+".previous.log")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cluster %s: keeping the log of %s: %w", c.Name, component, err)
		}
	}
	return nil
}
