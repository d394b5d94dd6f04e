package clusters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/spillway-io/spillway"

// programs are the files of BinDir that clusters need.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok", "kwokctl"}

// Root returns the repository's top directory. It searches upwards from the working directory, because go
// test and go run start within the repository.
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

// CheckBinaries returns an error that says what to do if bin/kube is incomplete.
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

// RequireBinaries is for TestMain. If bin/kube is incomplete, it prints what to do and exits, so that not
// every test fails.
func RequireBinaries() {
	if err := CheckBinaries(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
