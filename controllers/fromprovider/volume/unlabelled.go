package volume

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/precondition"
)

// A volume without its label is not in the binding's view, so it would be no record any more. The cache that all
// bindings share has its metadata. Of that, the name has the UID of the claim.

func volumeMetadata() *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolume"))
	return metadata
}

// lacksLabel reports whether a volume stands for one of the provider, and has lost its label.
func lacksLabel(volume client.Object, clusterID string) bool {
	return field.StandsForRemote(volume, clusterID) && volume.GetLabels()[v1alpha1.LabelSyncedTo+clusterID] != v1alpha1.SyncedToTrue
}

// unlabelled returns the metadata of the volume for a claim if it has lost its label, or nil.
func (r *reconciler) unlabelled(ctx context.Context, claim types.UID) (*metav1.PartialObjectMetadata, error) {
	volume := volumeMetadata()
	err := r.ClusterWide.Get(ctx, client.ObjectKey{Name: nameOf(r.Mark.ClusterID, claim)}, volume, client.UnsafeDisableDeepCopy)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("getting PersistentVolume %s: %w", nameOf(r.Mark.ClusterID, claim), err)
	case err != nil || !lacksLabel(volume, r.Mark.ClusterID):
		return nil, nil
	}
	return volume, nil
}

// labelled returns a volume with its label, and with its finalizer, unless it is too late for that: without them, it is
// no record.
func (s snapshot) labelled() *metav1.PartialObjectMetadata {
	after := s.unlabelled.DeepCopy()
	metav1.SetMetaDataLabel(&after.ObjectMeta, v1alpha1.LabelSyncedTo+s.clusterID, v1alpha1.SyncedToTrue)
	if after.DeletionTimestamp.IsZero() {
		controllerutil.AddFinalizer(after, v1alpha1.FinalizerSync+s.clusterID)
	}
	return after
}

// label writes the label and the finalizer of a volume. Only the metadata is known, without others' finalizers.
func label(ctx context.Context, consumer client.Client, before, after *metav1.PartialObjectMetadata) error {
	if err := consumer.Patch(ctx, after, precondition.LockedKeeping(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("labelling PersistentVolume %s: %w", before.Name, err)
	}
	return nil
}

// followUnlabelled enqueues the claims of volumes that have no label.
func (r *reconciler) followUnlabelled(ctx context.Context) error {
	return informer.Watch(ctx, r.ClusterWide, volumeMetadata(), func(e informer.Change) {
		if e.After == nil || !lacksLabel(e.After, r.Mark.ClusterID) {
			return
		}
		if uid, is := field.ClaimOf(e.After, r.Mark.ClusterID); is {
			r.Enqueue(named(ctx, r.Provider.GetCache(), decide.Key{Kind: name, UID: uid}))
		}
	})
}

// keyOfUID returns the key of a claim with that UID whose data the provider has.
func keyOfUID(ctx context.Context, provider client.Reader, uid types.UID) (decide.Key, bool) {
	var remotes corev1.PersistentVolumeClaimList
	if err := provider.List(ctx, &remotes, client.UnsafeDisableDeepCopy); err != nil { // It is ending.
		log.FromContext(ctx).Error(err, "a change is lost", "kind", name)
		return decide.Key{}, false
	}
	for i := range remotes.Items {
		if key := keyOfRemote(&remotes.Items[i]); key.UID == uid && field.HoldsData(&remotes.Items[i]) {
			return key, true
		}
	}
	return decide.Key{}, false
}
