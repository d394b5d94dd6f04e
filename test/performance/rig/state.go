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
	"github.com/spillway-io/spillway/internal/provenance"
)

// Namespace is a local namespace, which is the i-th of those to be offloaded.
func Namespace(i int) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%04d", i)}}
}

// Offloading is the NamespaceOffloading of Namespace(i), with the defaults.
func Offloading(i int) client.Object {
	return &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace(i).GetName(), Name: v1alpha1.OffloadingName,
	}}
}

// Origin is the identity of the consumer.
func (r *Rig) Origin(ctx context.Context) (string, error) {
	var namespace corev1.Namespace
	err := r.Consumer.Admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &namespace)
	return string(namespace.UID), err
}

// Marked are the namespaces of a provider that carry our mark, read past the cache.
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

// Versions are the resourceVersions of everything that Spillway writes: as long
// as they stay, nothing was written. Leases are left out, which are renewed as
// time goes by.
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

// note adds the versions of what is listed, past the cache.
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

// withoutHolder is all of a ClusterBinding but what it remembers of the Lease of
// its provider, which each manager takes anew.
func withoutHolder(binding *v1alpha1.ClusterBinding) (string, error) {
	binding = binding.DeepCopy()
	binding.ResourceVersion, binding.ManagedFields, binding.Status.Holder = "", nil, v1alpha1.HolderStatus{}
	text, err := json.Marshal(binding)
	return string(text), err
}

// Settled waits until the manager that was started at since has renewed the
// lease of each virtual node twice. The first time is when it engages the
// provider, with full caches; the second is five seconds later, when it has
// long done whatever a start gives it to do.
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

// Engaged waits until the manager that was started at since has engaged the providers of
// all bindings, and returns when it had.
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

// renewed is when the lease of each virtual node was renewed last, by name. That one has
// not been since then is an error.
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
