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

// An identity names everything that a node has outside of its namespaces: the
// temporary directory and the interface (whose name has 15 characters at most). It
// begins with the id of the process that made the node, so that what is left over of
// one that was killed can be told.
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

// abandoned reports whether the process that made the node is gone.
func (id identity) abandoned() bool {
	match := identityRegexp.FindStringSubmatch(string(id))
	if match == nil {
		return false
	}
	pid, err := strconv.Atoi(match[1])
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// remove removes what the node had; that there is nothing is no error. The
// directory tells which containers there were, and so goes last.
func (id identity) remove(ctx context.Context) error {
	if err := errors.Join(id.removeLink(ctx), id.removeCgroups(ctx)); err != nil {
		return err
	}
	return os.RemoveAll(id.directory())
}

// sweep removes what nodes have left whose processes were killed.
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
