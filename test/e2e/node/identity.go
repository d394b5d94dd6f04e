package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
)

// identity is in the name of everything that a node has outside of its namespaces: the temporary directory
// and the interface, whose name may have 15 characters. It begins with the ID of the process that created the
// node, which identifies the leftovers of a killed process.
type identity string

var (
	identities     atomic.Int32
	identityRegexp = regexp.MustCompile(`^spw([0-9]+)n[0-9]+$`)
)

func newIdentity() identity {
	return identity(fmt.Sprintf("spw%dn%d", os.Getpid(), identities.Add(1)))
}

func (id identity) directory() string { return filepath.Join(os.TempDir(), string(id)) }
func (id identity) link() string      { return string(id) }
func (id identity) peer() string      { return string(id) + "p" }

// abandoned reports whether the process that created the node is gone.
func (id identity) abandoned() bool {
	match := identityRegexp.FindStringSubmatch(string(id))
	if match == nil {
		return false
	}
	pid, err := strconv.Atoi(match[1])
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// remove removes what the node had. Missing parts are no error. It removes the directory last, because this
// shows which containers there were.
func (id identity) remove(ctx context.Context) error {
	if err := errors.Join(id.removeLink(ctx), id.removeCgroups(ctx)); err != nil {
		return err
	}
	return os.RemoveAll(id.directory())
}

// sweep removes what the nodes of killed processes have left.
func sweep(ctx context.Context) error {
	var errs []error
	for _, pattern := range []string{filepath.Join(os.TempDir(), "spw*"), "/sys/class/net/spw*"} {
		paths, _ := filepath.Glob(pattern) // the patterns are well-formed
		for _, path := range paths {
			if id := identity(filepath.Base(path)); id.abandoned() {
				errs = append(errs, id.remove(ctx))
			}
		}
	}
	return errors.Join(errs...)
}
