package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// push sends images of one program to a registry, as one image for several architectures. It uses the
// credentials that docker login or crane auth login has stored. It replaces no other image of that tag. It returns the
// name of the image with its digest, which is what one signs: a tag may get another image meanwhile.
func push(image string, files []string) (pushed string, err error) {
	if len(files) == 0 {
		return "", errors.New("name the files with the images to push")
	}
	tag, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return "", err
	}
	index := v1.ImageIndex(empty.Index)
	seen := map[string]string{}
	for _, file := range files {
		one, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		config, err := one.ConfigFile()
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		platform := config.OS + "/" + config.Architecture
		if other, twice := seen[platform]; twice {
			return "", fmt.Errorf("%s and %s are both for %s", other, file, platform)
		}
		seen[platform] = file
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
		})
	}
	auth := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if err := unused(tag, index, auth); err != nil {
		return "", err
	}
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	return tag.Digest(digest.String()).Name(), remote.WriteIndex(tag, index, auth)
}

// unused returns an error if the registry has another image with this tag. The same image is fine: a push
// that failed half way can be repeated.
func unused(tag name.Tag, index v1.ImageIndex, auth remote.Option) error {
	there, err := remote.Head(tag, auth)
	var refused *transport.Error
	if errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if there.Digest != digest {
		return fmt.Errorf("the registry has another image %s already: %s", tag, there.Digest)
	}
	return nil
}
