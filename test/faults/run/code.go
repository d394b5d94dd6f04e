package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// codeIn returns where the manager, its manifests and the harness are, and the versions of all dependencies.
// Kubernetes' version is in hack/kube.
func codeIn() []string {
	return []string{
		"api", "cmd", "config", "controllers", "internal", "go.mod", "go.sum", "hack/kube",
		"test/clusters", "test/faults", "test/manifests", "test/performance/rig", "test/requests",
	}
}

// Code returns the fingerprint of the code under root. It hashes the files: a commit would miss uncommitted
// changes.
func Code(root string) (string, error) {
	sum := sha256.New()
	for _, part := range codeIn() {
		// WalkDir goes in lexical order.
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			fmt.Fprintf(sum, "%s %d\n%s", name, len(raw), raw)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}
