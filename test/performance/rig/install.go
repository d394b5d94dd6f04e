package rig

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/manifests"
)

const shippedToProviders = "config/provider"

// install applies a directory of config as it is shipped, except the Deployment: the user of the rig runs the
// manager. The policies do not apply to the exempt namespaces.
func install(ctx context.Context, c client.Client, directory string, exempt []string) error {
	shipped, err := manifests.Kustomized(ctx, directory)
	if err != nil {
		return err
	}
	if shipped, err = manifests.WithGatewayAPI(ctx, shipped); err != nil {
		return err
	}
	if directory == shippedToProviders {
		shipped = manifests.ForSamples(shipped)
	}
	for _, object := range shipped {
		if err := leaveOut(object, exempt); err != nil {
			return err
		}
	}
	return manifests.Create(ctx, c, manifests.Without(shipped, "Deployment"))
}

// leaveOut excludes namespaces from a policy's binding. An API server checks that before it converts an
// object for the policy, and the conversion is most of a policy's cost.
func leaveOut(object *unstructured.Unstructured, namespaces []string) error {
	if len(namespaces) == 0 || !strings.HasSuffix(object.GetKind(), "AdmissionPolicyBinding") {
		return nil
	}
	values := make([]any, len(namespaces))
	for i, namespace := range namespaces {
		values[i] = namespace
	}
	path := []string{"spec", "matchResources", "namespaceSelector", "matchExpressions"}
	expressions, _, err := unstructured.NestedSlice(object.Object, path...)
	if err != nil {
		return err
	}
	others := map[string]any{"key": corev1.LabelMetadataName, "operator": string(metav1.LabelSelectorOpNotIn), "values": values}
	return unstructured.SetNestedSlice(object.Object, append(expressions, others), path...)
}
