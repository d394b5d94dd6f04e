package podtoken

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/cache/informer"
	engdecide "github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// Start implements engine.Runner.
func (r *reconciler) Start(ctx context.Context) error {
	err := informer.Watch(ctx, r.View, &corev1.Pod{}, func(e informer.Change) {
		before, _ := e.Before.(*corev1.Pod)
		after, _ := e.After.(*corev1.Pod)
		if before != nil && hasEnded(before, after) && len(token.Mounted(before)) > 0 {
			r.Enqueue(keyOf(client.ObjectKeyFromObject(before)))
		}
	})
	if err != nil {
		return err
	}
	// A remote pod needs its Secret, also if that was deleted while nobody watched. Once it is there, its tokens
	// are renewed.
	err = informer.Watch(ctx, r.Provider.GetCache(), &corev1.Pod{}, func(e informer.Change) {
		if e.Before == nil && usesTokens(r.Mark, e.After) {
			r.Enqueue(keyOf(objects.LocalKey(e.After)))
		}
	})
	if err != nil {
		return err
	}
	return informer.Watch(ctx, r.Provider.GetCache(), &corev1.Secret{}, func(e informer.Change) {
		for _, held := range []client.Object{e.Before, e.After} {
			if secret, ok := held.(*corev1.Secret); ok && r.isOurs(secret) {
				r.Enqueue(keyOf(objects.LocalKey(secret)))
				return
			}
		}
	})
}

// hasEnded reports whether a change of a pod is its end.
func hasEnded(before, after *corev1.Pod) bool {
	return after == nil || after.UID != before.UID || ended(after) && !ended(before)
}

// EnqueueNamespace implements engine.Runner.
func (r *reconciler) EnqueueNamespace(ctx context.Context, namespace string) {
	for _, key := range r.pods.in(namespace) {
		r.Enqueue(keyOf(key))
	}
	var held corev1.SecretList
	if err := r.Provider.GetCache().List(ctx, &held, objects.TokensOf(nil), client.UnsafeDisableDeepCopy); err != nil {
		return // The cache and the connection are ending.
	}
	for i := range held.Items {
		enqueueIn(r, namespace, &held.Items[i])
	}
	if r.API().Endpoint == nil {
		return // No pod uses the consumer's API.
	}
	// A remote pod whose Secret is gone: nothing else says so, if the binding was paused when it went.
	for _, place := range placesOf(r, namespace) {
		var remotes corev1.PodList
		if err := r.Provider.GetCache().List(ctx, &remotes, client.InNamespace(place), client.UnsafeDisableDeepCopy); err != nil {
			return
		}
		for i := range remotes.Items {
			if usesTokens(r.Mark, &remotes.Items[i]) {
				enqueueIn(r, namespace, &remotes.Items[i])
			}
		}
	}
}

// placesOf returns the namespaces in the provider where the pods of a local namespace may be. An empty name means all
// namespaces, in both clusters.
func placesOf(r *reconciler, namespace string) []string {
	if namespace == "" {
		return []string{metav1.NamespaceAll}
	}
	var places []string
	for _, at := range r.Destinations(namespace) {
		if at.Namespace != "" {
			places = append(places, at.Namespace)
		}
	}
	return places
}

// enqueueIn enqueues the pod of a remote object, if the pod is in a local namespace. An empty name means all
// namespaces.
func enqueueIn(r *reconciler, namespace string, remote client.Object) {
	if key := objects.LocalKey(remote); namespace == "" || key.Namespace == namespace {
		r.Enqueue(keyOf(key))
	}
}

// usesTokens reports whether an object is a remote pod that mounts the tokens of its local pod.
func usesTokens(mark provenance.Mark, obj client.Object) bool {
	remote, ok := obj.(*corev1.Pod)
	return ok && mark.IsOn(remote) && token.Uses(&remote.Spec, provenance.LocalOf(remote).UID)
}

func keyOf(pod types.NamespacedName) engdecide.Key {
	return engdecide.Key{Kind: name, NamespacedName: pod}
}

// podKeyOf returns the key of the pod itself.
func podKeyOf(pod types.NamespacedName) engdecide.Key {
	return engdecide.Key{Kind: "pod", NamespacedName: pod}
}
