package main

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestWrite reads the image back. The image contains only the program, runs as a user without rights, and is
// the same each time.
func TestWrite(t *testing.T) {
	program := filepath.Join(t.TempDir(), "manager")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for range 2 {
		out := filepath.Join(t.TempDir(), "image.tar")
		if err := write(program, "registry.example/spillway:1", "v1", "arm64", out); err != nil {
			t.Fatal(err)
		}
		image, err := tarball.ImageFromPath(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; c.User != "65532:65532" || len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/manager" || config.OS != "linux" || config.Architecture != "arm64" ||
			c.Labels["org.opencontainers.image.version"] != "v1" {
			t.Errorf("the configuration is %+v", config)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatal(layers, err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		files := tar.NewReader(content)
		if header, err := files.Next(); err != nil || header.Name != "manager" || header.Mode != 0o755 {
			t.Errorf("the first file is %v (%v)", header, err)
		}
		if _, err := files.Next(); err != io.EOF {
			t.Errorf("there is more than the program: %v", err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[digest.String()] = true
	}
	if len(digests) != 1 {
		t.Errorf("the same program makes different images: %v", digests)
	}
}

// TestWriteRefuses: a name without a registry or a tag is refused. Nobody who uses the full name would find
// such an image.
func TestWriteRefuses(t *testing.T) {
	for _, name := range []string{"", "spillway", "spillway:1"} {
		if err := write("main.go", name, "v1", "amd64", filepath.Join(t.TempDir(), "image.tar")); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
}
