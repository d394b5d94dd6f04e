package pages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUpdate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "docs.md")
	const document = "before\n<!-- begin: a. Written by UPDATE_DOCS=1 make faults. -->\n%<!-- end: a -->\nafter\n"
	if err := os.WriteFile(file, []byte(strings.Replace(document, "%", "old\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Update(file, "a", "make faults", "new\n"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(document, "%", "new\n", 1); string(got) != want {
			t.Errorf("the document is\n%s\nwant\n%s", got, want)
		}
	}
	for _, part := range []string{"b", ""} {
		if err := Update(file, part, "make faults", "new\n"); err == nil || !strings.Contains(err.Error(), "no marks") {
			t.Errorf("part %q: got %v, want an error about the marks", part, err)
		}
	}
	if err := Update(file, "a", "make check", "new\n"); err == nil {
		t.Error("the part of another command was written")
	}
	if err := Update(file+".none", "a", "make faults", "new\n"); !os.IsNotExist(err) {
		t.Errorf("got %v, want that there is no such file", err)
	}
}

func TestMachine(t *testing.T) {
	if text := Machine(); !strings.Contains(text, " cores (") {
		t.Errorf("this machine is %q", text)
	}
}
