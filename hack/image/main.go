// Command image writes a container image with one static program, as a tar file for ctr images import, kind
// load image-archive or crane push. It needs neither Docker nor a registry, because the image contains only
// the program. make image runs this command. With -push, it sends such files to a registry, as one image,
// and prints its name with its digest.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	program := flag.String("program", "", "the static program for Linux that the image runs")
	image := flag.String("image", "", "the name of the image, with registry and tag")
	version := flag.String("version", "", "the version of the program")
	arch := flag.String("arch", "", "the architecture that the program is for, such as amd64")
	out := flag.String("out", "", "the file to write")
	to := flag.String("push", "", "the name of an image, to push there what the files have that the arguments name")
	flag.Parse()
	if *to != "" {
		pushed, err := push(*to, flag.Args())
		if err != nil {
			fmt.Fprintln(os.Stderr, "image:", err)
			os.Exit(1)
		}
		fmt.Println(pushed)
		return
	}
	if err := write(*program, *image, *version, *arch, *out); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(program, image, version, arch, out string) error {
	tag, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return err
	}
	called := filepath.Base(program)
	files, err := archive(program, called)
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil })
	if err != nil {
		return err
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := built.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	// A user without rights, as the restricted pod security standard requires.
	config.Config = v1.Config{Entrypoint: []string{"/" + called}, User: "65532:65532", WorkingDir: "/", Labels: map[string]string{
		"org.opencontainers.image.title": called, "org.opencontainers.image.version": version,
		"org.opencontainers.image.source": "https://github.com/spillway-io/spillway", "org.opencontainers.image.licenses": "Apache-2.0",
	}}
	if built, err = mutate.ConfigFile(built, config); err != nil {
		return err
	}
	return tarball.WriteToFile(out, tag, built)
}

// archive returns the layer. It contains no times, so the same program gives the same layer.
func archive(program, called string) ([]byte, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	files := tar.NewWriter(&buffer)
	header := files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: called, Mode: 0o755, Size: int64(len(content))})
	_, written := files.Write(content)
	return buffer.Bytes(), errors.Join(header, written, files.Close())
}
