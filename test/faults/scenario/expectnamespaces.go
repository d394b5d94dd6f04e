package scenario

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
)

// offloaded wants a namespace to be offloaded to exactly those providers, and all statuses to say so.
func offloaded(namespace string, providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		offloading, err := get[v1alpha1.NamespaceOffloading](ctx, w, world.Consumer, namespace, v1alpha1.OffloadingName)
		if err != nil {
			return err
		}
		status := &offloading.Status
		var clusters []string
		var errs []error
		for _, remote := range status.RemoteNamespaceConditions {
			clusters = append(clusters, remote.Cluster)
			errs = append(errs,
				condition(remote.Conditions, v1alpha1.RemoteNamespaceRequired, metav1.ConditionTrue, v1alpha1.ReasonClusterSelected),
				condition(remote.Conditions, v1alpha1.RemoteNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive))
		}
		slices.Sort(clusters)
		err = wrap("NamespaceOffloading of "+namespace, append(errs,
			same("the phase", status.OffloadingPhase, v1alpha1.OffloadingPhaseReady),
			condition(status.Conditions, v1alpha1.OffloadingReady, metav1.ConditionTrue, string(v1alpha1.OffloadingPhaseReady)),
			same("the observed generation", status.ObservedGeneration, offloading.Generation),
			same("the remote name", status.RemoteNamespaceName, w.Remote(namespace)),
			same("the clusters", fmt.Sprint(clusters), fmt.Sprint(providers)))...)
		if err != nil {
			return err
		}
		for _, id := range providers {
			if err := isMapped(ctx, w, namespace, id); err != nil {
				return err
			}
		}
		return nil
	}
}

// isMapped wants the remote namespace to exist with the mark, and the map and the binding to say so.
func isMapped(ctx context.Context, w *world.World, namespace, id string) error {
	local, err := get[corev1.Namespace](ctx, w, world.Consumer, "", namespace)
	if err != nil {
		return err
	}
	remote, err := get[corev1.Namespace](ctx, w, id, "", w.Remote(namespace))
	if err != nil {
		return err
	}
	err = wrap("namespace "+remote.Name+" of "+id,
		same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: id}.IsOn(remote), true),
		same("what it stands for", provenance.LocalOf(remote), provenance.Local{Namespace: namespace, Name: namespace, UID: local.UID}),
		same("the phase", remote.Status.Phase, corev1.NamespaceActive))
	if err != nil {
		return err
	}
	if err := entryIs(namespace, id, v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive)(ctx, w); err != nil {
		return err
	}
	return allMapped(ctx, w, id)
}

// allMapped wants the map and its binding to count the map's entries, and all of them to be accepted.
func allMapped(ctx context.Context, w *world.World, id string) error {
	nsm, err := get[v1alpha1.NamespaceMap](ctx, w, world.Consumer, "", id)
	if err != nil {
		return err
	}
	binding, err := get[v1alpha1.ClusterBinding](ctx, w, world.Consumer, "", id)
	if err != nil {
		return err
	}
	n := len(nsm.Spec.DesiredMapping)
	return wrap("NamespaceMap and ClusterBinding "+id,
		same("the observed generation", nsm.Status.ObservedGeneration, nsm.Generation),
		same("the entries", len(nsm.Status.CurrentMapping), n),
		same("the summary", binding.Status.Namespaces.Summary, fmt.Sprintf("%d/%d", n, n)))
}

// entryIs wants a namespace's entry in a provider's map to have that phase and reason.
func entryIs(namespace, id string, phase v1alpha1.MappingPhase, reason string) Func {
	return func(ctx context.Context, w *world.World) error {
		nsm, err := get[v1alpha1.NamespaceMap](ctx, w, world.Consumer, "", id)
		if err != nil {
			return err
		}
		for _, entry := range nsm.Status.CurrentMapping {
			if entry.Namespace == namespace {
				return wrap("entry "+namespace+" of NamespaceMap "+id,
					same("the phase", entry.Phase, phase), same("the reason", entry.Reason, reason),
					same("the remote name", entry.RemoteNamespace, w.Remote(namespace)))
			}
		}
		return fmt.Errorf("NamespaceMap %s says nothing of %s", id, namespace)
	}
}

// notOffloaded wants nothing of a namespace's offloading to be left.
func notOffloaded(namespace string, providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		wants := []Func{gone[v1alpha1.NamespaceOffloading](world.Consumer, named(namespace, v1alpha1.OffloadingName))}
		for _, id := range providers {
			wants = append(wants, gone[corev1.Namespace](id, remoteNamespace(namespace)), nothingMarked(id), notMapped(namespace, id))
		}
		return all(wants...)(ctx, w)
	}
}

// notMapped wants a provider's map to have no entry of a namespace.
func notMapped(namespace, id string) Func {
	return func(ctx context.Context, w *world.World) error {
		nsm, err := get[v1alpha1.NamespaceMap](ctx, w, world.Consumer, "", id)
		if err != nil {
			return err
		}
		for _, entry := range nsm.Spec.DesiredMapping {
			if entry.Namespace == namespace {
				return fmt.Errorf("NamespaceMap %s asks for %s", id, namespace)
			}
		}
		return allMapped(ctx, w, id)
	}
}

// names returns the names of all objects of a list.
func names(ctx context.Context, admin client.Client, list client.ObjectList, options ...client.ListOption) ([]string, error) {
	if err := admin.List(ctx, list, options...); err != nil {
		return nil, err
	}
	var found []string
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			found = append(found, object.GetNamespace()+"/"+object.GetName())
		}
		return err
	})
	return found, err
}
