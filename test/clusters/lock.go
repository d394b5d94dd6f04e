package clusters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// errLocked: another process holds the lock.
var errLocked = errors.New("in use by another process")

// lockFile takes an advisory lock. The kernel releases it when the process ends, however it ends. While
// another process holds it, lockFile tries again for patience; if that is zero, it does not.
func lockFile(path string, patience time.Duration) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock file: %w", err)
	}
	const interval = 20 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for begin := time.Now(); ; <-ticker.C {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = file.Close() }, nil
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EWOULDBLOCK) && time.Since(begin) < patience:
			continue
		}
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
}

// owned has the locks of the names that this process owns, by lock file.
var owned = struct {
	sync.Mutex
	unlock map[string]func()
}{unlock: map[string]func(){}}

// own makes this process the owner of the cluster name in dir, until disown or the end of the process. Owning
// twice is no error.
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
	unlock, err := lockFile(path, 0)
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
