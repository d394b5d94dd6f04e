// Package config embeds the manifests of this directory, and builds them as kustomize does. Programs
// that apply manifests use this package, so there is no second copy.
package config

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The consumer's account in a provider, and the ConfigMap of the provider's administrator.
const (
	ProviderNamespace = "spillway-provider"
	ProviderAccount   = "spillway-consumer"
	Limits            = "limits"
)

// The manager's namespace and names in the consumer.
const (
	Namespace = "spillway-system"
	Manager   = "spillway-manager"
	// Image is the image in the manifests.
	Image = "ghcr.io/spillway-io/spillway:dev"
)

//go:embed */*.yaml */*/*.yaml */*/*/*.yaml
var files embed.FS

// Directories returns the names of the directories that Objects can build.
func Directories() []string {
	var names []string
	entries, _ := files.ReadDir(".") // An embedded directory can always be read.
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// Objects returns the objects that kustomize builds from a directory, such as default or provider. It
// keeps their order.
func Objects(directory string) ([]*unstructured.Unstructured, error) {
	inMemory := filesys.MakeFsInMemory()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return inMemory.WriteFile("/"+path, content)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the manifests: %w", err)
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // Each kustomization.yaml sets the order.
	built, err := krusty.MakeKustomizer(options).Run(inMemory, "/"+directory)
	if err != nil {
		return nil, fmt.Errorf("building config/%s: %w", directory, err)
	}
	content, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("building config/%s: %w", directory, err)
	}
	return Decode(content)
}

// Decode reads objects from YAML documents. It skips documents without an object, for example with
// comments only.
func Decode(content []byte) ([]*unstructured.Unstructured, error) {
	const lookahead = 4096
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), lookahead)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Digest returns a hash of the objects, in hexadecimal. Different objects have different digests.
func Digest(objects []*unstructured.Unstructured) (string, error) {
	hash := sha256.New()
	for _, object := range objects {
		content, err := object.MarshalJSON()
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
