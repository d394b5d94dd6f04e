package consumer

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NamespaceMetadata returns what to ask a cache for that holds the metadata of Namespaces only.
func NamespaceMetadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
}

// NamespaceLabels returns the labels of a namespace from a cache that holds the metadata of Namespaces. One that is gone has
// none. Callers must not change them.
func NamespaceLabels(ctx context.Context, cache client.Reader, name string) (map[string]string, error) {
	namespace := NamespaceMetadata()
	if _, err := Exists(ctx, cache, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil, fmt.Errorf("getting namespace %s: %w", name, err)
	}
	return namespace.Labels, nil
}
