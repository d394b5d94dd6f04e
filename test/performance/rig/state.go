package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// Namespace is the i-th local namespace to offload.
func Namespace(i int) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%04d", i)}}
}

// Offloading is the NamespaceOffloading of Namespace(i), with the defaults.
func Offloading(i int) client.Object {
	return &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace(i).GetName(), Name: v1alpha1.OffloadingName,
	}}
}

// Origin returns the identity of the consumer.
func (r *Rig) Origin(ctx context.Context) (string, error) {
	var namespace corev1.Namespace
	err := r.Consumer.Admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &namespace)
	return string(namespace.UID), err
}

// Marked returns the namespaces of a provider with the consumer's mark, without a cache.
func (r *Rig) Marked(ctx context.Context, provider *Cluster) ([]corev1.Namespace, error) {
	origin, err := r.Origin(ctx)
	if err != nil {
		return nil, err
	}
	var list corev1.NamespaceList
	mark := provenance.Mark{Origin: origin, ClusterID: provider.ID}
	err = provider.Admin.List(ctx, &list, client.MatchingLabelsSelector{Selector: mark.Selector()})
	return list.Items, err
}

// Versions returns the resourceVersions of everything that Spillway writes. If they do not change, it wrote
// nothing. Leases are left out, because they are renewed.
func (r *Rig) Versions(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	for _, list := range []client.ObjectList{
		&corev1.NodeList{}, &v1alpha1.ClusterBindingList{}, &v1alpha1.NamespaceMapList{}, &v1alpha1.NamespaceOffloadingList{},
		&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{},
	} {
		if err := note(ctx, versions, r.Consumer, list); err != nil {
			return nil, err
		}
	}
	origin, err := r.Origin(ctx)
	if err != nil {
		return nil, err
	}
	for _, provider := range r.Providers {
		ours := client.MatchingLabelsSelector{Selector: provenance.Mark{Origin: origin, ClusterID: provider.ID}.Selector()}
		for _, list := range []client.ObjectList{&corev1.NamespaceList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{}} {
			if err := note(ctx, versions, provider, list, ours); err != nil {
				return nil, err
			}
		}
	}
	return versions, nil
}

// note adds the versions of the listed objects, without a cache.
func note(ctx context.Context, versions map[string]string, c *Cluster, list client.ObjectList, options ...client.ListOption) error {
	if err := c.Admin.List(ctx, list, options...); err != nil {
		return fmt.Errorf("listing in cluster %s: %w", c.ID, err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		version := object.GetResourceVersion()
		if binding, ok := item.(*v1alpha1.ClusterBinding); ok {
			if version, err = withoutHolder(binding); err != nil {
				return err
			}
		}
		versions[fmt.Sprintf("%s: %T %s/%s", c.ID, item, object.GetNamespace(), object.GetName())] = version
		return nil
	})
}

// withoutHolder returns a ClusterBinding without its record of the provider's Lease, which each manager takes
// again.
func withoutHolder(binding *v1alpha1.ClusterBinding) (string, error) {
	binding = binding.DeepCopy()
	binding.ResourceVersion, binding.ManagedFields, binding.Status.Holder = "", nil, v1alpha1.HolderStatus{}
	text, err := json.Marshal(binding)
	return string(text), err
}

// Settled waits until the manager that was started at since has renewed the Lease of each virtual node twice.
// The first time is when the provider is connected and the caches are full. The second is five seconds later,
// long after the manager has finished the work of its start.
func (r *Rig) Settled(ctx context.Context, since time.Time, patience time.Duration) error {
	var first map[string]time.Time
	return Eventually(ctx, patience, func(ctx context.Context) error {
		renewed, err := r.renewed(ctx, since)
		if err != nil {
			return err
		}
		if first == nil {
			first = renewed
		}
		for name, at := range renewed {
			if !at.After(first[name]) {
				return fmt.Errorf("the lease of %s has been renewed only once", name)
			}
		}
		return nil
	})
}

// Engaged waits until the manager that was started at since is connected to the providers of all bindings,
// and returns when that happened.
func (r *Rig) Engaged(ctx context.Context, since time.Time, patience time.Duration) (last time.Time, err error) {
	err = Eventually(ctx, patience, func(ctx context.Context) error {
		renewed, err := r.renewed(ctx, since)
		for _, at := range renewed {
			if at.After(last) {
				last = at
			}
		}
		return err
	})
	return last, err
}

// renewed returns when the Lease of each virtual node was last renewed, by name. It returns an error if one
// was not renewed since then.
func (r *Rig) renewed(ctx context.Context, since time.Time) (map[string]time.Time, error) {
	var leases coordinationv1.LeaseList
	if err := r.Consumer.Admin.List(ctx, &leases, client.InNamespace(corev1.NamespaceNodeLease)); err != nil {
		return nil, err
	}
	at := map[string]time.Time{}
	for i := range leases.Items {
		if renewed := leases.Items[i].Spec.RenewTime; renewed != nil && renewed.After(since) {
			at[leases.Items[i].Name] = renewed.Time
		}
	}
	all := map[string]time.Time{}
	for _, clusterID := range r.bound {
		name := v1alpha1.VirtualNodePrefix + clusterID
		renewed, ok := at[name]
		if !ok {
			return nil, fmt.Errorf("the lease of %s has not been renewed: %d of %d have", name, len(at), len(r.bound))
		}
		all[name] = renewed
	}
	return all, nil
}
