// Package image builds a container image without a registry and without Docker: an archive with busybox,
// which ctr images import imports.
//
// The archive is an OCI image layout in a tar file. Its only layer has a static busybox and a link for each
// applet that tests use. By default the image waits. So it also serves as the image of pod sandboxes, and the
// cluster need not fetch registry.k8s.io/pause.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// applets of busybox that scripts in tests call by name.
var applets = []string{"cat", "date", "echo", "env", "false", "grep", "httpd", "id", "kill", "ls", "mkfifo", "mount", "sh", "sleep", "stty", "tail", "tar", "test", "touch", "true", "wget"}

// Write writes the archive file. reference names the image, with registry and tag, as in
// registry.example/busybox:1. The program busybox must be linked statically, because the image has nothing
// else.
func Write(file, reference, busybox string) error {
	program, err := os.ReadFile(busybox)
	if err != nil {
		return fmt.Errorf("reading busybox: %w", err)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("creating the archive of image %s: %w", reference, err)
	}
	if err := errors.Join(write(out, reference, program), out.Close()); err != nil {
		return fmt.Errorf("writing the archive of image %s: %w", reference, err)
	}
	return nil
}

func write(out io.Writer, reference string, program []byte) error {
	layer, err := layerWith(program)
	if err != nil {
		return err
	}
	l := layout{blobs: map[string][]byte{}}
	layerOf := l.add(typeLayer, layer)
	configOf, err := l.addJSON(typeConfig, newConfig(layerOf.Digest))
	if err != nil {
		return err
	}
	manifestOf, err := l.addJSON(typeManifest, manifest{
		SchemaVersion: 2, MediaType: typeManifest, Config: configOf, Layers: []descriptor{layerOf},
	})
	if err != nil {
		return err
	}
	// The first annotation is containerd's, the second the standard's.
	manifestOf.Annotations = map[string]string{
		"io.containerd.image.name":          reference,
		"org.opencontainers.image.ref.name": reference,
	}
	manifestOf.Platform = &platform{Architecture: runtime.GOARCH, OS: "linux"}
	return l.writeTo(out, manifestOf)
}

// layerWith builds the layer, which is itself a tar file.
func layerWith(busybox []byte) ([]byte, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	var errs []error
	add := func(header tar.Header, content []byte) {
		errs = append(errs, archive.WriteHeader(&header))
		_, err := archive.Write(content)
		errs = append(errs, err)
	}
	for _, directory := range []string{"bin/", "etc/", "tmp/"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: directory, Mode: 0o755}, nil)
	}
	passwd := []byte("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644, Size: int64(len(passwd))}, passwd)
	add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755, Size: int64(len(busybox))}, busybox)
	for _, applet := range applets {
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox", Mode: 0o777}, nil)
	}
	errs = append(errs, archive.Close())
	return buffer.Bytes(), errors.Join(errs...)
}

// layout collects the blobs of an OCI image layout by their digests.
type layout struct{ blobs map[string][]byte }

func (l layout) add(mediaType string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	l.blobs[digest] = content
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: len(content)}
}

func (l layout) addJSON(mediaType string, content any) (descriptor, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return descriptor{}, err
	}
	return l.add(mediaType, raw), nil
}

func (l layout) writeTo(out io.Writer, manifestOf descriptor) error {
	entry, err := json.Marshal(index{SchemaVersion: 2, Manifests: []descriptor{manifestOf}})
	if err != nil {
		return err
	}
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": entry}
	for digest, content := range l.blobs {
		files["blobs/sha256/"+digest] = content
	}
	archive := tar.NewWriter(out)
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}
