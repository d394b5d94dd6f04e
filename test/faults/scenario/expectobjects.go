package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
)

// configMapIs wants the copy of the ConfigMap to have that value and the mark.
func configMapIs(value, provider string, at func(*world.World) client.ObjectKey) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[corev1.ConfigMap](ctx, w, world.Consumer, team, settings)
		if err != nil {
			return err
		}
		remote, err := get[corev1.ConfigMap](ctx, w, provider, at(w).Namespace, at(w).Name)
		if err != nil {
			return err
		}
		return wrap("ConfigMap "+at(w).String(), isCopy(w, provider, local, remote), same("the value", remote.Data[key], value))
	}
}

// secretIs is configMapIs for the Secret.
func secretIs(value, provider string, at func(*world.World) client.ObjectKey) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[corev1.Secret](ctx, w, world.Consumer, team, password)
		if err != nil {
			return err
		}
		remote, err := get[corev1.Secret](ctx, w, provider, at(w).Namespace, at(w).Name)
		if err != nil {
			return err
		}
		return wrap("Secret "+at(w).String(), isCopy(w, provider, local, remote), same("the value", string(remote.Data[key]), value))
	}
}

// isCopy wants an object in a provider to be marked as the copy of a local one, and the local one to have the
// label and the finalizer.
func isCopy(w *world.World, provider string, local, remote client.Object) error {
	stands := provenance.Local{Namespace: local.GetNamespace(), Name: local.GetName(), UID: local.GetUID()}
	return wrap("the copy",
		same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: provider}.IsOn(remote), true),
		same("what it stands for", provenance.LocalOf(remote), stands),
		same("that it stays", remote.GetDeletionTimestamp().IsZero(), true),
		same("the label of the original", local.GetLabels()[v1alpha1.LabelSyncedTo+provider], v1alpha1.SyncedToTrue),
		same("the finalizer of the original", slices.Contains(local.GetFinalizers(), v1alpha1.FinalizerSync+provider), true))
}

// unmarked wants a local object to have no label, annotation or finalizer of Spillway.
func unmarked[T any, P interface {
	*T
	client.Object
}](namespace, name string) Func {
	return func(ctx context.Context, w *world.World) error {
		object, err := get[T, P](ctx, w, world.Consumer, namespace, name)
		if err != nil {
			return err
		}
		marks := slices.Clone(object.GetFinalizers())
		for _, keys := range []map[string]string{object.GetLabels(), object.GetAnnotations()} {
			for key := range keys {
				marks = append(marks, key)
			}
		}
		marks = slices.DeleteFunc(marks, func(mark string) bool { return !strings.Contains(mark, v1alpha1.Domain) })
		if len(marks) > 0 {
			return fmt.Errorf("%T %s/%s is marked still: %v", object, namespace, name, marks)
		}
		return nil
	}
}

// remoteVolume returns the key of the volume's copy.
func remoteVolume(provider string) func(*world.World) client.ObjectKey {
	return func(w *world.World) client.ObjectKey {
		return client.ObjectKey{Name: field.Hashed(w.Origin+"/"+provider, data)}
	}
}

// hashed returns the key of the copy of the team's object in the mount namespace.
func hashed(name string) func(*world.World) client.ObjectKey {
	return func(w *world.World) client.ObjectKey {
		return client.ObjectKey{Namespace: w.Remote(mount), Name: field.Hashed(team, name)}
	}
}

// claimIsBound wants the copies of claim and volume to be bound to each other.
func claimIsBound(provider string) Func {
	return claimOf(provider, remotely(team, data), remoteVolume(provider))
}

func claimOf(cluster string, claimed, at func(*world.World) client.ObjectKey) Func {
	return func(ctx context.Context, w *world.World) error {
		claim, err := get[corev1.PersistentVolumeClaim](ctx, w, cluster, claimed(w).Namespace, claimed(w).Name)
		if err != nil {
			return err
		}
		volume, err := get[corev1.PersistentVolume](ctx, w, cluster, "", at(w).Name)
		if err != nil {
			return err
		}
		return wrap("claim and volume in "+cluster,
			same("the claim's phase", claim.Status.Phase, corev1.ClaimBound), same("the volume's phase", volume.Status.Phase, corev1.VolumeBound),
			same("the claim's volume", claim.Spec.VolumeName, volume.Name), same("the volume's claim", volume.Spec.ClaimRef.UID, claim.UID))
	}
}

// note remembers the UID of an object.
func note(cluster string, name func(*world.World) client.ObjectKey) Func {
	return func(ctx context.Context, w *world.World) error {
		uid, err := uidOf(ctx, w, cluster, name(w))
		w.Notes[cluster+" "+name(w).String()] = uid
		return err
	}
}

// noted wants the object to have the UID that note remembered; another wants it to exist with a different
// one.
func noted(cluster string, name func(*world.World) client.ObjectKey) Func {
	return compare(cluster, name, true)
}

func another(cluster string, name func(*world.World) client.ObjectKey) Func {
	return compare(cluster, name, false)
}

func compare(cluster string, name func(*world.World) client.ObjectKey, equal bool) Func {
	return func(ctx context.Context, w *world.World) error {
		uid, err := uidOf(ctx, w, cluster, name(w))
		if err != nil {
			return err
		}
		return wrap(cluster+": "+name(w).String(), same("that it is the same object", uid == w.Notes[cluster+" "+name(w).String()], equal))
	}
}

// uidOf returns the UID of a namespace if the key has no namespace, or else of a pod.
func uidOf(ctx context.Context, w *world.World, cluster string, key client.ObjectKey) (string, error) {
	if key.Namespace == "" {
		namespace, err := get[corev1.Namespace](ctx, w, cluster, "", key.Name)
		if err != nil {
			return "", err
		}
		return string(namespace.UID), nil
	}
	pod, err := get[corev1.Pod](ctx, w, cluster, key.Namespace, key.Name)
	if err != nil {
		return "", err
	}
	return string(pod.UID), nil
}
