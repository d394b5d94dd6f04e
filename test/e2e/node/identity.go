package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// An identity names everything that a node has outside of its namespaces: the
// temporary directory, the bridge (names of interfaces have 15 characters at
// most) and the cgroup. It begins with the id of the process that made the node,
// so that what is left over of one that was killed can be told.
type identity string

var (
	identities     atomic.Int32
	identityRegexp = regexp.MustCompile(`^spw([0-9]+)n[0-9]+$`)
)

func newIdentity() identity {
	return identity(fmt.Sprintf("spw%dn%d", os.Getpid(), identities.Add(1)))
}

func (id identity) directory() string { return filepath.Join(os.TempDir(), string(id)) }
func (id identity) bridge() string    { return string(id) }
func (id identity) cgroup() string    { return "/" + string(id) }

// abandoned says whether the process that made the node is gone.
func (id identity) abandoned() bool {
	match := identityRegexp.FindStringSubmatch(string(id))
	if match == nil {
		return false
	}
	pid, err := strconv.Atoi(match[1])
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// remove removes what the node had; that there is nothing is no error.
func (id identity) remove(ctx context.Context) error {
	return errors.Join(id.removeBridge(ctx), id.removeCgroups(ctx), os.RemoveAll(id.directory()))
}

// removeCgroups removes the cgroup of the containers and those below, in each
// hierarchy of version 1 or the only one of version 2. The kernel lets go of
// them a moment after their last process.
func (id identity) removeCgroups(ctx context.Context) error {
	const patience = 10 * time.Second
	return await(ctx, patience, func(context.Context) error {
		return errors.Join(eachCgroup(id, func(directory string) error {
			err := syscall.Rmdir(directory)
			if err != nil && !errors.Is(err, syscall.ENOENT) {
				return fmt.Errorf("removing cgroup %s: %w", directory, err)
			}
			return nil
		})...)
	})
}

// eachCgroup calls do for the cgroups of id, those below first.
func eachCgroup(id identity, do func(string) error) []error {
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		tops, _ := filepath.Glob(pattern + string(id)) // the pattern is well-formed
		for _, top := range tops {
			_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					found = append(found, path)
				}
				return nil // what goes away meanwhile need not be removed
			})
		}
	}
	var errs []error
	for i := len(found) - 1; i >= 0; i-- {
		errs = append(errs, do(found[i]))
	}
	return errs
}

// sweep removes what nodes have left whose processes were killed.
func sweep(ctx context.Context) error {
	var errs []error
	for _, pattern := range []string{
		filepath.Join(os.TempDir(), "spw*"), "/sys/class/net/spw*", "/sys/fs/cgroup/spw*", "/sys/fs/cgroup/*/spw*",
	} {
		paths, _ := filepath.Glob(pattern) // the patterns are well-formed
		for _, path := range paths {
			if id := identity(filepath.Base(path)); id.abandoned() {
				errs = append(errs, id.remove(ctx))
			}
		}
	}
	return errors.Join(errs...)
}
