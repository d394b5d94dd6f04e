package oracle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// normalise returns an object in YAML, without what differs between runs.
func (m *masks) normalise(obj *unstructured.Unstructured) (string, error) {
	obj = obj.DeepCopy()
	relative(obj.Object, obj.GetGeneration())
	hashData(obj)
	going := obj.GetDeletionTimestamp() != nil
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp",
	} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	if going {
		_ = unstructured.SetNestedField(obj.Object, "set", "metadata", "deletionTimestamp") // metadata is a map.
	}
	// Each manager takes the Lease of a provider anew, and the binding remembers it.
	unstructured.RemoveNestedField(obj.Object, "status", "holder")
	// At which port a manager is reached differs from run to run.
	unstructured.RemoveNestedField(obj.Object, "status", "daemonEndpoints")
	finalizers := obj.GetFinalizers()
	slices.Sort(finalizers)
	obj.SetFinalizers(finalizers)
	text, err := yaml.Marshal(m.value(obj.Object))
	if err != nil {
		return "", fmt.Errorf("writing %s down: %w", title(obj), err)
	}
	return string(text), nil
}

// relative replaces each observedGeneration by how far it is behind.
func relative(v any, generation int64) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			observed, isNumber := value.(int64)
			switch {
			case key != "observedGeneration" || !isNumber:
				relative(value, generation)
			case observed == generation:
				v[key] = "current"
			default:
				v[key] = fmt.Sprintf("%d behind", generation-observed)
			}
		}
	case []any:
		for _, item := range v {
			relative(item, generation)
		}
	}
}

// hashData keeps what is in Secrets out of reports.
func hashData(obj *unstructured.Unstructured) {
	if obj.GetKind() != "Secret" {
		return
	}
	data, found, err := unstructured.NestedStringMap(obj.Object, "data")
	if !found || err != nil {
		return
	}
	expires := obj.GetAnnotations()[v1alpha1.AnnotationTokenExpires] != ""
	for key, value := range data {
		if expires && key != corev1.ServiceAccountNamespaceKey { // Each request returns another token, and each consumer has an authority of its own.
			data[key] = "<of this run>"
			continue
		}
		sum := sha256.Sum256([]byte(value))
		data[key] = "sha256 " + hex.EncodeToString(sum[:6])
	}
	_ = unstructured.SetNestedStringMap(obj.Object, data, "data") // It was there.
}
