package volume

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// claims is the name of the kind of claims that are sent.
const claims = "persistentvolumeclaim"

// Start implements engine.Runner. A change of a volume enqueues its claim, too: what becomes of the provider's
// claim depends on the volume.
func (r *reconciler) Start(ctx context.Context) error {
	if err := informer.Watch(ctx, r.View, &corev1.PersistentVolume{}, func(e informer.Change) {
		if key, ours := r.keyOfVolume(e.Object()); ours {
			key = named(ctx, r.Provider.GetCache(), key)
			r.Enqueue(key)
			if key.Name != "" {
				r.Enqueue(decide.Key{Kind: claims, NamespacedName: key.NamespacedName})
			}
		}
	}); err != nil {
		return err
	}
	if err := informer.Watch(ctx, r.View, &corev1.PersistentVolumeClaim{}, func(e informer.Change) { r.Enqueue(keyOf(e.Object())) }); err != nil {
		return err
	}
	if err := r.followUnlabelled(ctx); err != nil {
		return err
	}
	return informer.Watch(ctx, r.Provider.GetCache(), &corev1.PersistentVolumeClaim{}, func(e informer.Change) {
		if remote, ok := e.Object().(*corev1.PersistentVolumeClaim); ok && field.HoldsData(remote) {
			r.Enqueue(keyOfRemote(remote))
		}
	})
}

// EnqueueNamespace implements engine.Runner.
func (r *reconciler) EnqueueNamespace(ctx context.Context, namespace string) {
	var remotes corev1.PersistentVolumeClaimList
	var volumes corev1.PersistentVolumeList
	err := r.Provider.GetCache().List(ctx, &remotes, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = r.View.List(ctx, &volumes, client.UnsafeDisableDeepCopy)
	}
	if err != nil { // The caches and the connection are ending.
		log.FromContext(ctx).Error(err, "a change is lost", "kind", name)
		return
	}
	for i := range remotes.Items {
		if key := keyOfRemote(&remotes.Items[i]); field.HoldsData(&remotes.Items[i]) && (namespace == "" || key.Namespace == namespace) {
			r.Enqueue(key)
		}
	}
	for i := range volumes.Items {
		if key, ours := r.keyOfVolume(&volumes.Items[i]); ours {
			if key = named(ctx, r.Provider.GetCache(), key); namespace == "" || key.Namespace == namespace {
				r.Enqueue(key)
			}
		}
	}
}

func keyOf(claim client.Object) decide.Key {
	return decide.Key{Kind: name, NamespacedName: client.ObjectKeyFromObject(claim), UID: claim.GetUID()}
}

// keyOfVolume returns the key of the claim that a volume is for, if the volume stands for one of the provider. The
// volume's name says which claim that is, for ever. Its claimRef, which an administrator may remove or change, has the
// claim's name. Without it, the key has only the UID.
func (r *reconciler) keyOfVolume(obj client.Object) (decide.Key, bool) {
	volume, ok := obj.(*corev1.PersistentVolume)
	if !ok || !field.StandsForRemote(volume, r.Mark.ClusterID) {
		return decide.Key{}, false
	}
	uid, is := field.ClaimOf(volume, r.Mark.ClusterID)
	key := decide.Key{Kind: name, UID: uid}
	if ref := volume.Spec.ClaimRef; ref != nil && ref.UID == uid {
		key.NamespacedName = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	}
	return key, is
}

// named returns a key with the name of the claim, if the key has it, or the provider's claim.
func named(ctx context.Context, provider client.Reader, key decide.Key) decide.Key {
	if key.Name == "" {
		if found, there := keyOfUID(ctx, provider, key.UID); there {
			return found
		}
	}
	return key
}

func keyOfRemote(remote *corev1.PersistentVolumeClaim) decide.Key {
	local := provenance.LocalOf(remote)
	return decide.Key{Kind: name, NamespacedName: types.NamespacedName{Namespace: local.Namespace, Name: local.Name}, UID: local.UID}
}
