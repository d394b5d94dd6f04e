package clusters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// errLocked: another process holds the lock.
var errLocked = errors.New("in use by another process")

// lockFile takes an advisory lock, which the kernel releases when the process
// ends, however it ends. With wait it blocks until the lock is free.
func lockFile(path string, wait bool) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock file: %w", err)
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return func() { _ = file.Close() }, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("locking %s: %w", path, err)
}

// owned holds the locks of the names that this process owns, by lock file.
var owned = struct {
	sync.Mutex
	unlock map[string]func()
}{unlock: map[string]func(){}}

// own makes this process the owner of the cluster name in dir, until disown or
// the end of the process. Owning twice is no error.
func own(dir, name string) error {
	owned.Lock()
	defer owned.Unlock()
	path := ownerFile(dir, name)
	if _, ok := owned.unlock[path]; ok {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("cluster %s: %w", name, err)
	}
	unlock, err := lockFile(path, false)
	if err != nil {
		return fmt.Errorf("cluster %s in %s: %w", name, dir, err)
	}
	owned.unlock[path] = unlock
	return nil
}

func disown(dir, name string) {
	owned.Lock()
	defer owned.Unlock()
	path := ownerFile(dir, name)
	if unlock, ok := owned.unlock[path]; ok {
		unlock()
		delete(owned.unlock, path)
	}
}

func ownerFile(dir, name string) string { return filepath.Join(dir, "locks", name) }
