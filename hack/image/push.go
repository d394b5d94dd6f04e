package main

import (
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// push sends images of one program to a registry, as one image for several architectures. It uses the
// credentials that docker login or crane auth login has stored.
func push(image string, files []string) error {
	if len(files) == 0 {
		return errors.New("name the files with the images to push")
	}
	tag, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return err
	}
	index := v1.ImageIndex(empty.Index)
	for _, file := range files {
		one, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		config, err := one.ConfigFile()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
		})
	}
	return remote.WriteIndex(tag, index, remote.WithAuthFromKeychain(authn.DefaultKeychain))
}
