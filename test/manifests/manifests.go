// Package manifests applies the shipped manifests of config to the clusters of tests. It does so as an
// administrator would: strictly, and it waits until a CRD is served before it creates an object of that kind.
//
// File reads one file as it is, for tests of that file. All other tests use Kustomized, which reads a
// directory as users get it. So the tests also have everything that kustomize leaves out or changes.
package manifests

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/samples"
)

// Without leaves out the objects of some kinds.
func Without(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(object *unstructured.Unstructured) bool {
		return slices.Contains(kinds, object.GetKind())
	})
}

// WithLimit changes the value of a key in the provider's limits, ConfigMap spillway-provider/limits.
func WithLimit(objects []*unstructured.Unstructured, key, value string) []*unstructured.Unstructured {
	changed := slices.Clone(objects)
	for i, object := range changed {
		if object.GetKind() == "ConfigMap" && object.GetName() == "limits" {
			changed[i] = object.DeepCopy()
			_ = unstructured.SetNestedField(changed[i].Object, value, "data", key) // data is a map.
		}
	}
	return changed
}

// ForSamples makes a provider accept the samples of all kinds. It sets the limits that allow them, and adds
// the class of their Ingresses.
func ForSamples(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for key, value := range samples.Limits {
		objects = WithLimit(objects, key, value)
	}
	class := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"controller": "example.com/ingress"}}}
	class.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("IngressClass"))
	class.SetName(samples.IngressClass)
	return append(slices.Clone(objects), class)
}

// File reads a file. Its path is relative to the root of the repository.
func File(path string) ([]*unstructured.Unstructured, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, err
	}
	return Decode(path, raw)
}

// Kustomized returns the objects that kustomize builds from a directory. The path is relative to the root of
// the repository.
func Kustomized(_ context.Context, directory string) ([]*unstructured.Unstructured, error) {
	return config.Objects(strings.TrimPrefix(directory, "config/"))
}

// Decode reads objects from YAML. Errors name the source of the YAML.
func Decode(source string, raw []byte) ([]*unstructured.Unstructured, error) {
	objects, err := config.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", source, err)
	}
	return objects, nil
}
