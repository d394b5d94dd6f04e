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

// kwokctl runs kwokctl for this cluster. It would wait two minutes for a
// component that has ended at once; here it is watched, and the wait broken off.
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
		// Out of time: what a component that does not get ready writes is of
		// more use than what kwokctl writes.
		return fmt.Errorf("running kwokctl %s: %w\n%s", args[0], context.Cause(ctx), c.logTail(KubeAPIServer))
	}
	return fmt.Errorf("running kwokctl %s: %w\n%s", args[0], err, lastLines(string(out)))
}

// kwokctlEnv is our environment without settings of the user's own kwok, and
// with our kubectl before any other.
func (c *Cluster) kwokctlEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "KWOK_") || strings.HasPrefix(v, "KUBECONFIG=") || strings.HasPrefix(v, "PATH=")
	})
	path := c.binDir + string(os.PathListSeparator) + os.Getenv("PATH")
	return append(env, "KWOK_WORKDIR="+c.root, "PATH="+path)
}

// watchForEnd returns an error when etcd or the API server, which kwokctl has
// started, is gone, and nil when ctx is done: waitReady cares for their clients,
// which give up when they do not find the API server ready. It goes by the process ids that kwokctl notes,
// not by what it has seen running: a component that does not like its flags has
// ended before anybody looks. One that is not there counts when it is still not
// there at the next look: while a program is being loaded, which on a busy
// machine takes a while, its process has no name yet.
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
		// In this order: what is noted was running before it was.
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

// notedPIDs are the process ids of the components that kwokctl has started.
// They may have ended since; forgetPIDs removes those of an earlier run.
func (c *Cluster) notedPIDs() map[Component]int {
	noted := map[Component]int{}
	for _, component := range AllComponents() {
		raw, err := os.ReadFile(c.pidFile(component))
		if err != nil {
			continue
		}
		// A file that is only just being written is read the next time.
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
	// again is set if another attempt may go better.
	again bool
}

func (e *fatalError) Error() string { return e.message }

// ended makes the error for a component that should run and does not. Another
// attempt finds other ports.
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

// logTail quotes the end of a component's log and says where the rest is.
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

// keepLogs renames the logs of components that do not run: kwokctl overwrites
// them when it starts the component again.
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
