package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/clusters"
)

// installConsumer applies what config/default lists, but for the Deployment.
func installConsumer(ctx context.Context, c client.Client) error {
	for _, files := range []string{"crd/bases/*.yaml", "manager/namespace.yaml", "rbac/*.yaml", "policy/*.yaml"} {
		if err := install(ctx, c, files); err != nil {
			return err
		}
	}
	// The API server serves a new kind a moment later.
	return Eventually(ctx, time.Minute, func(ctx context.Context) error {
		return errors.Join(c.List(ctx, &v1alpha1.ClusterBindingList{}), c.List(ctx, &v1alpha1.NamespaceMapList{}),
			c.List(ctx, &v1alpha1.NamespaceOffloadingList{}))
	})
}

// installProvider applies what config/provider lists.
func installProvider(ctx context.Context, c client.Client) error {
	if err := install(ctx, c, "provider/namespace.yaml"); err != nil {
		return err
	}
	return install(ctx, c, "provider/*.yaml")
}

// install creates the objects in files of config. Those that exist stay.
func install(ctx context.Context, c client.Client, pattern string) error {
	root, err := clusters.Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "config", pattern))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no files %s in config: %w", pattern, err)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		if err := installFile(ctx, c, file); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
	}
	return nil
}

func installFile(ctx context.Context, c client.Client, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := create(ctx, c, object); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// create waits for a CRD to be established: what comes next may be of its kind.
func create(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	if err := c.Create(ctx, object, client.FieldValidation("Strict")); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	if object.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	return Eventually(ctx, time.Minute, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		if err != nil {
			return err
		}
		for _, condition := range conditions {
			m, _ := condition.(map[string]any)
			if m["type"] == string(apiextensionsv1.Established) && m["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("%s is not established: %v", object.GetName(), conditions)
	})
}
