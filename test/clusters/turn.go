package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// turnPatience is less than the time after which hack/test.sh kills a package, and more than the longest
// suite takes. A manual go test kills a package after ten minutes by default.
const turnPatience = 40 * time.Minute

// startsAtOnce is how many clusters with the same programs start at the same time. A start keeps the
// processors busy for seconds, and a dozen at once would all exceed their timeouts.
const startsAtOnce = 2

// awaitStart waits until the cluster may start. Others wait until the caller calls done.
func (c *Cluster) awaitStart(ctx context.Context) (done func(), err error) {
	dir := filepath.Join(filepath.Dir(c.binDir), "locks")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	err = poll(ctx, turnPatience, func(context.Context) error {
		for slot := range startsAtOnce {
			done, err = lockFile(filepath.Join(dir, fmt.Sprintf("starting-%d", slot)), 0)
			if !errors.Is(err, errLocked) {
				break
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: waiting for others to have started: %w", c.Name, err)
	}
	return done, nil
}

// turn keeps the lock of AwaitTurn. Without a reference, the file would be closed and unlocked.
var turn func()

// AwaitTurn is for the start of suites that need several control planes for many minutes. It waits until no
// other such suite runs on this checkout: two that are started by hand would overload a small machine. make
// test never waits here. The turn ends with the process. Another call has no effect, because a second lock of
// the same process would wait for the first.
func AwaitTurn() {
	if turn != nil {
		return
	}
	unlock, err := takeTurn()
	if err != nil {
		fmt.Fprintln(os.Stderr, "waiting for other suites:", err)
		os.Exit(1)
	}
	turn = unlock
}

func takeTurn() (func(), error) {
	dir, _, err := defaultDirs("", "")
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "locks")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, ".turn")
	unlock, err := lockFile(file, 0)
	if errors.Is(err, errLocked) {
		fmt.Fprintln(os.Stderr, "another suite with control planes runs on this checkout: waiting for its end")
		unlock, err = lockFile(file, turnPatience)
	}
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("another one has been running for %s (it has the lock %s); start them one after the other", turnPatience, file)
	}
	return unlock, err
}
