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

// install applies a directory of config, as it is shipped, but for the
// Deployment: whoever uses the rig runs the manager in a way of its own. No policy is bound
// to the exempt namespaces.
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

// leaveOut takes namespaces out of what a policy is bound to. An API server finds that out
// before it converts an object for the policy, which is most of what a policy costs.
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
