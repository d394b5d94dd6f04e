package clusters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/spillway-io/spillway"

// programs are the files of BinDir that clusters are made of.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok", "kwokctl"}

// Root is the repository's top directory, searched upwards from the working
// directory (go test and go run start within the repository).
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			if first, _, _ := strings.Cut(string(gomod), "\n"); strings.TrimSpace(first) == "module "+module {
				return dir, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding the repository: no go.mod of %s in %s or above", module, start)
		}
	}
}

// CheckBinaries says whether bin/kube is complete, and what to do if not.
func CheckBinaries() error {
	_, binDir, err := defaultDirs("", "")
	if err != nil {
		return err
	}
	return checkBinaries(binDir)
}

func checkBinaries(binDir string) error {
	for _, program := range programs {
		if _, err := os.Stat(filepath.Join(binDir, program)); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("%s is missing in %s: run `make kube` (about 8 minutes, once)", program, binDir)
			}
			return fmt.Errorf("checking the programs of clusters: %w", err)
		}
	}
	return nil
}

// RequireBinaries is for TestMain: without a complete bin/kube it says what to
// do and exits, instead of letting every test fail on its own.
func RequireBinaries() {
	if err := CheckBinaries(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// turn keeps the lock of AwaitTurn: a file that nobody refers to is closed, and
// unlocked with it.
var turn func()

// AwaitTurn is for TestMain of suites that need several control planes for
// long: it waits until no other such suite runs on this checkout, so that go
// test, which runs packages side by side, does not start more of them than a
// small machine bears. The turn ends with the process. Awaiting it again is no
// error: a second lock of the same process would wait for the first.
func AwaitTurn() {
	if turn != nil {
		return
	}
	dir, _, err := defaultDirs("", "")
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "locks"), 0o750)
	}
	if err == nil {
		turn, err = lockFile(filepath.Join(dir, "locks", ".turn"), true)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "waiting for other suites:", err)
		os.Exit(1)
	}
}
