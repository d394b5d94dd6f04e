// Package manifests applies what is shipped in config to the clusters of tests,
// as an administrator would: strictly, and waiting for a CRD to be served
// before anything of its kind is made.
//
// File reads one file as it stands, for tests of that file. Kustomized reads a
// directory as users get it, for everybody else: what kustomize leaves out, or
// changes, is left out and changed in the tests too.
package manifests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/spillway-io/spillway/test/clusters"
)

// buildPatience is for go tool, which builds kustomize the first time.
const buildPatience = 5 * time.Minute

// Without leaves out the objects of some kinds.
func Without(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(object *unstructured.Unstructured) bool {
		return slices.Contains(kinds, object.GetKind())
	})
}

// WithLimit gives a key of the provider's limits, ConfigMap spillway-provider/limits, another
// value.
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

// File reads a file, whose path starts at the top of the repository.
func File(path string) ([]*unstructured.Unstructured, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, err
	}
	return decode(path, raw)
}

// Kustomized reads what kustomize makes of a directory, whose path starts at
// the top of the repository.
func Kustomized(ctx context.Context, directory string) ([]*unstructured.Unstructured, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, buildPatience, fmt.Errorf("it takes longer than %s", buildPatience))
	defer cancel()
	command := exec.CommandContext(ctx, "go", "tool", "-modfile=go.tools.mod", "kustomize", "build", directory)
	command.Dir = root
	var problems bytes.Buffer
	command.Stderr = &problems
	raw, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w\n%s", directory, errors.Join(err, context.Cause(ctx)), &problems)
	}
	return decode(directory, raw)
}

func decode(source string, raw []byte) ([]*unstructured.Unstructured, error) {
	const lookahead = 4096
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), lookahead)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("decoding %s: %w", source, err)
		}
		if len(object.Object) > 0 { // Else nothing but comments.
			objects = append(objects, object)
		}
	}
}
