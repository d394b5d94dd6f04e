package seeded

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// clause matches the package clause of a file.
var clause = regexp.MustCompile(`(?m)^package \w+$`)

// Overlay writes the files with a bug into a folder, and returns the file for go build -overlay. root is the
// folder of the repository. Each site's lines must be in its file exactly once, or Overlay returns an error.
func Overlay(root, into string) (string, error) {
	contents := map[string]string{}
	for bug, site := range sites {
		if _, read := contents[site.file]; !read {
			content, err := os.ReadFile(filepath.Join(root, site.file))
			if err != nil {
				return "", fmt.Errorf("the file of bug %s: %w", bug, err)
			}
			contents[site.file] = clause.ReplaceAllString(string(content), "$0\n\nimport \"github.com/spillway-io/spillway/test/faults/seeded\"")
		}
		was := strings.Trim(site.was, "\n")
		if n := strings.Count(contents[site.file], was); n != 1 {
			return "", fmt.Errorf("bug %s: its lines are in %s %d times, not once: %s", bug, site.file, n, was)
		}
		contents[site.file] = strings.Replace(contents[site.file], was, strings.Trim(site.bug, "\n"), 1)
	}
	root, err1 := filepath.Abs(root)
	into, err2 := filepath.Abs(into)
	if err1 != nil || err2 != nil {
		return "", fmt.Errorf("the folders of the overlay: %w, %w", err1, err2)
	}
	replace := map[string]string{}
	for name, content := range contents {
		to := filepath.Join(into, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, name)] = to
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(into, "overlay.json")
	return file, os.WriteFile(file, overlay, 0o600)
}
