package manifests

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// servePatience is the time that an API server may take to serve a new kind.
	servePatience = time.Minute
	pollInterval  = 50 * time.Millisecond
)

// Create creates the objects in their order. It fails if an object exists already, or has a field that its
// kind does not have.
func Create(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := c.Create(ctx, object, client.FieldValidation("Strict")); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := awaitServed(ctx, c, object); err != nil {
			return err
		}
	}
	return nil
}

// awaitServed waits until the API server serves the kind of a CRD, because the next object may be of that
// kind.
func awaitServed(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
		return fmt.Errorf("reading CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{
		Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.ListKind,
	})
	var missing error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, servePatience, true, func(ctx context.Context) (bool, error) {
		missing = c.List(ctx, list)
		return missing == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until CustomResourceDefinition %s is served: %w: %w", crd.Name, err, missing)
	}
	return nil
}
