package world

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// sweepPatience bounds the removal of everything a run created. It normally takes some tenths of a second.
const sweepPatience = 30 * time.Second

// What a run may leave behind. Namespaces come last, after their contents.
var (
	inProviders = slices.Concat(
		[]schema.GroupVersionKind{{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}},
		sent(true),
		[]schema.GroupVersionKind{schedulingv1.SchemeGroupVersion.WithKind("PriorityClass")},
		[]schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Namespace")},
	)
	inConsumers = append([]schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("NamespaceOffloading"),
		v1alpha1.GroupVersion.WithKind("NamespaceMap"),
		v1alpha1.GroupVersion.WithKind("ClusterBinding"),
		corev1.SchemeGroupVersion.WithKind("Node"),
	}, inProviders...)
)

// present returns the objects of a cluster that may be the lane's, by kind and name.
func (l *Lane) present(ctx context.Context, c *rig.Cluster) (map[string]*metav1.PartialObjectMetadata, error) {
	kinds, found := inProviders, map[string]*metav1.PartialObjectMetadata{}
	if c.ID == Consumer {
		kinds = inConsumers
	}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := c.Admin.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing in cluster %s: %w", c.Name, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			object.SetGroupVersionKind(kind)
			if c.ID == Consumer && ofConsumer(object) || c.ID != Consumer && l.owns(object) {
				found[fmt.Sprintf("%s %s/%s", kind.Kind, object.Namespace, object.Name)] = object
			}
		}
	}
	return found, nil
}

// ofConsumer returns false for the API server's own objects.
func ofConsumer(object *metav1.PartialObjectMetadata) bool {
	return !strings.HasPrefix(object.Namespace, "kube-") || object.Namespace == corev1.NamespaceNodeLease
}

// owns reports whether an object in a provider is the lane's.
func (l *Lane) owns(object *metav1.PartialObjectMetadata) bool {
	suffix := "-" + l.ConsumerID
	return strings.HasSuffix(object.Namespace, suffix) || strings.HasSuffix(object.Name, suffix) ||
		object.Labels[v1alpha1.LabelOrigin] == l.Origin || object.Labels[oracle.LabelLane] == l.ConsumerID
}

// left returns what a run left in a cluster, in the order of deletion.
func (l *Lane) left(ctx context.Context, c *rig.Cluster) ([]*metav1.PartialObjectMetadata, error) {
	found, err := l.present(ctx, c)
	if err != nil {
		return nil, err
	}
	var left []*metav1.PartialObjectMetadata
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !l.baseline[c.ID].Has(name) {
			left = append(left, found[name])
		}
	}
	slices.SortStableFunc(left, func(a, b *metav1.PartialObjectMetadata) int {
		return slices.Index(inConsumers, a.GroupVersionKind()) - slices.Index(inConsumers, b.GroupVersionKind())
	})
	return left, nil
}

func stillThere(c *rig.Cluster, left []*metav1.PartialObjectMetadata) error {
	names := make([]string, len(left))
	for i, object := range left {
		names[i] = strings.TrimSpace(object.Kind + " " + client.ObjectKeyFromObject(object).String())
		if !object.DeletionTimestamp.IsZero() {
			names[i] += " (being deleted)"
		}
	}
	return fmt.Errorf("in cluster %s there are %s", c.Name, strings.Join(names, ", "))
}

// sweep removes by force what a run left, until a look finds nothing. After that, a run may begin without
// another check.
func (l *Lane) sweep(ctx context.Context) error {
	all := l.Clusters()
	err := rig.Eventually(ctx, sweepPatience, func(ctx context.Context) error {
		return each(len(all), func(i int) error {
			left, err := l.left(ctx, all[i])
			if err != nil || len(left) == 0 {
				return err
			}
			for _, object := range left {
				if err := remove(ctx, all[i].Admin, object); err != nil {
					return err
				}
			}
			return stillThere(all[i], left)
		})
	})
	if err != nil {
		return fmt.Errorf("emptying lane %d: %w", l.Index, err)
	}
	// Delete the events as well. Those about cluster-scoped objects are in this namespace.
	return l.Consumer.Admin.DeleteAllOf(ctx, &corev1.Event{}, client.InNamespace(metav1.NamespaceDefault))
}

// remove deletes one object and removes its finalizers. The played namespace controller finishes a namespace
// when it is empty.
func remove(ctx context.Context, c client.Client, object *metav1.PartialObjectMetadata) error {
	if len(object.Finalizers) > 0 {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := c.Patch(ctx, object, patch); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if object.Kind == "Namespace" && !object.DeletionTimestamp.IsZero() {
		return nil
	}
	return client.IgnoreNotFound(c.Delete(ctx, object, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
}
