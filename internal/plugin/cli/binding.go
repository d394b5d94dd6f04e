package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Binding reads a ClusterBinding. If there is none of that name, the error names those that exist.
func (c *Cluster) Binding(ctx context.Context, name string) (*v1alpha1.ClusterBinding, error) {
	binding := &v1alpha1.ClusterBinding{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, binding)
	if apierrors.IsNotFound(err) {
		return nil, NoBinding(name, c.Bindings(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("reading ClusterBinding %s: %w", name, err)
	}
	return binding, nil
}

// Bindings returns the names of the ClusterBindings, for a user who may have misspelt one; nil if this user may not list
// them.
func (c *Cluster) Bindings(ctx context.Context) []string {
	list := &v1alpha1.ClusterBindingList{}
	if err := c.List(ctx, list); err != nil {
		return nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names
}

// NoBinding is the error for a name that no ClusterBinding has. existing is nil if it is not known which exist.
func NoBinding(name string, existing []string) error {
	if existing == nil {
		return fmt.Errorf("there is no ClusterBinding %s", name)
	}
	return fmt.Errorf("there is no ClusterBinding %s; existing ones: %s", name, cmp.Or(strings.Join(existing, ", "), "none"))
}
