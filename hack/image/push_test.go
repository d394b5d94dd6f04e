package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestPush reads the image back from a registry: it has both architectures.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	image := strings.TrimPrefix(server.URL, "http://") + "/spillway:v1"
	program := filepath.Join(t.TempDir(), "manager")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, arch := range []string{"amd64", "arm64"} {
		out := filepath.Join(t.TempDir(), arch+".tar")
		if err := write(program, "registry.example/spillway:v1", "v1", arch, out); err != nil {
			t.Fatal(err)
		}
		files = append(files, out)
	}
	pushed, err := push(image, files)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := index.Digest(); err != nil || pushed != strings.TrimSuffix(image, ":v1")+"@"+digest.String() {
		t.Errorf("it says %s, and pushed %s (%v)", pushed, digest, err)
	}
	var got []string
	for _, one := range manifest.Manifests {
		got = append(got, one.Platform.OS+"/"+one.Platform.Architecture)
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(got, want) {
		t.Errorf("the image is for %v, want %v", got, want)
	}
	if _, err := push(image, nil); err == nil {
		t.Error("nothing was pushed, and nothing is said")
	}
}

// TestPushReplacesNothing: the same image may be pushed again, another one with the same tag may not, and
// no platform may be there twice.
func TestPushReplacesNothing(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	image := strings.TrimPrefix(server.URL, "http://") + "/spillway:v1.2.3"
	file := func(version, arch string) string {
		out := filepath.Join(t.TempDir(), "image.tar")
		if err := write("main.go", image, version, arch, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := file("v1", "amd64")
	for range 2 {
		if _, err := push(image, []string{one}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := push(image, []string{file("v2", "amd64")}); err == nil {
		t.Error("another image took its place")
	}
	if _, err := push(image, []string{one, one}); err == nil || !strings.Contains(err.Error(), "both for linux/amd64") {
		t.Errorf("two images for one platform: %v", err)
	}
}
