// Package provider has the manifests of this directory, as the administrator of a provider
// applies them: the program that binds hosted clusters has them from here, so that there is
// no second copy of what a consumer may do.
package provider

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// The account of a consumer, and the ConfigMap that belongs to the provider's administrator.
const (
	Namespace = "spillway-provider"
	Account   = "spillway-consumer"
	Limits    = "limits"
)

// optional are the roles, and their bindings, that an administrator may leave out.
var optional = []string{Account + "-logs", Account + "-exec", Account + "-metrics"}

// Optional tells whether a provider works without the object: its administrator may leave it
// out, and says so by deleting it.
func Optional(object *unstructured.Unstructured) bool {
	return slices.Contains(optional, object.GetName()) && strings.HasPrefix(object.GetKind(), "ClusterRole")
}

//go:embed *.yaml
var files embed.FS

// kustomization is what is used here of kustomization.yaml.
type kustomization struct {
	Resources []string `json:"resources"`
	Labels    []struct {
		Pairs map[string]string `json:"pairs"`
	} `json:"labels"`
}

// Objects returns what kustomize makes of this directory, in its order: policies come before
// the rights that they confine.
func Objects() ([]*unstructured.Unstructured, error) {
	content, err := files.ReadFile("kustomization.yaml")
	if err != nil {
		return nil, err
	}
	var all kustomization
	if err := yaml.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("reading kustomization.yaml: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range all.Resources {
		found, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	for _, object := range objects {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		for _, more := range all.Labels {
			maps.Copy(labels, more.Pairs)
		}
		object.SetLabels(labels)
	}
	return objects, nil
}

// Digest differs for manifests that differ.
func Digest() (string, error) {
	objects, err := Objects()
	if err != nil {
		return "", err
	}
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

func read(name string) ([]*unstructured.Unstructured, error) {
	content, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
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
		if len(object.Object) > 0 { // Else nothing but comments.
			objects = append(objects, object)
		}
	}
}
