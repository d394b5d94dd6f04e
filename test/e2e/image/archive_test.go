package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestArchive follows the references of an archive, as an importer does: from the index to the manifest, then
// to the layer and its busybox.
func TestArchive(t *testing.T) {
	const reference = "registry.example/busybox:1"
	directory := t.TempDir()
	busybox, archive := filepath.Join(directory, "busybox"), filepath.Join(directory, "image.tar")
	if err := os.WriteFile(busybox, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(archive, reference, busybox); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, raw)

	var top index
	decode(t, files["index.json"], &top)
	if len(top.Manifests) != 1 || top.Manifests[0].Annotations["io.containerd.image.name"] != reference {
		t.Fatalf("index.json does not name the image: %s", files["index.json"])
	}
	var inner manifest
	decode(t, blob(t, files, top.Manifests[0]), &inner)
	var settings config
	decode(t, blob(t, files, inner.Config), &settings)
	if len(inner.Layers) != 1 || len(settings.RootFS.DiffIDs) != 1 || settings.RootFS.DiffIDs[0] != inner.Layers[0].Digest {
		t.Fatalf("config and manifest disagree on the layers: %v, %v", settings.RootFS.DiffIDs, inner.Layers)
	}
	layer := untar(t, blob(t, files, inner.Layers[0]))
	if got := string(layer["bin/busybox"]); got != "a program" {
		t.Errorf("bin/busybox is %q", got)
	}
	if _, ok := layer["bin/sh"]; !ok {
		t.Error("there is no bin/sh")
	}
}

func TestArchiveWithoutBusybox(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := Write(archive, "registry.example/busybox:1", filepath.Join(t.TempDir(), "busybox")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Write returns %v, which does not say that busybox is missing", err)
	}
}

// blob returns the content of a descriptor, if size and digest are right.
func blob(t *testing.T, files map[string][]byte, of descriptor) []byte {
	t.Helper()
	digest := strings.TrimPrefix(of.Digest, "sha256:")
	content, ok := files["blobs/sha256/"+digest]
	sum := sha256.Sum256(content)
	if !ok || len(content) != of.Size || hex.EncodeToString(sum[:]) != digest {
		t.Fatalf("the archive does not have %+v", of)
	}
	return content
}

func untar(t *testing.T, raw []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	archive := tar.NewReader(bytes.NewReader(raw))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
