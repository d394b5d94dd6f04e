package podadmission

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolume"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/precondition"
)

// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims;persistentvolumes,verbs=get
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=patch

// claims returns what is known about the claims of a pod. It reads bound claims only if they matter, because
// the pod lacks tolerations, and only until one cannot be sent.
func (r *Unscheduled) claims(ctx context.Context, pod *corev1.Pod, bindings placement.Index, matter bool) ([]unscheduledpod.Claim, error) {
	names := needs.Claims(pod)
	if len(names) > needs.MostClaims {
		return []unscheduledpod.Claim{{Name: names[0], Refusal: &field.Problem{
			Reason: field.ReasonVolumeNotAllowed, Message: fmt.Sprintf("the pod names more than %d PersistentVolumeClaims", needs.MostClaims),
		}}}, nil
	}
	var claims []unscheduledpod.Claim
	for _, name := range names {
		metadata := claimMetadata()
		metadata.Namespace, metadata.Name = pod.Namespace, name
		claim := unscheduledpod.Claim{Name: name}
		err := r.SharedCache.Get(ctx, client.ObjectKeyFromObject(metadata), metadata, client.UnsafeDisableDeepCopy)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return nil, fmt.Errorf("getting PersistentVolumeClaim %s/%s: %w", pod.Namespace, name, err)
		case err != nil || !isBound(metadata):
			claim.Refusal, claim.SelectedNode = persistentvolumeclaim.NotBound(metadata), virtual(metadata, bindings)
			if r.Provides && (matter || claim.SelectedNode != "") { // The cache may not show a new claim yet.
				if claim.Providers, err = r.providers(ctx, client.ObjectKeyFromObject(metadata), bindings); err != nil {
					return nil, err
				}
			}
		case !metadata.DeletionTimestamp.IsZero(): // The scheduler takes no pod of it, either.
			claim.Refusal = &field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolumeClaim " + name + " is being deleted"}
		case matter:
			if claim.Refusal, err = r.refusal(ctx, client.ObjectKeyFromObject(metadata)); err != nil {
				return nil, err
			}
			matter = claim.Refusal == nil
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// providers returns the clusterIDs of the bindings that map the StorageClass of a claim without a volume. A class of
// the consumer's own driver does not count: Kubernetes asks that driver for the volume.
func (r *Unscheduled) providers(ctx context.Context, key client.ObjectKey, bindings placement.Index) ([]string, error) {
	if !slices.ContainsFunc(bindings.Usable(), func(binding *v1alpha1.ClusterBinding) bool {
		return field.Classes(binding.Spec.Classes).Maps(v1alpha1.ClassStorage)
	}) {
		return nil, nil
	}
	claim, class := &corev1.PersistentVolumeClaim{}, &storagev1.StorageClass{}
	if err := r.Live.Get(ctx, key, claim); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("getting PersistentVolumeClaim %s: %w", key, err)
	}
	name := persistentvolumeclaim.StorageClass(claim)
	offered, err := consumer.Exists(ctx, r.Client, client.ObjectKey{Name: name}, class)
	if err != nil {
		return nil, fmt.Errorf("getting StorageClass %s: %w", name, err)
	}
	if !offered || class.Provisioner != v1alpha1.StorageDriver || claim.Spec.VolumeName != "" {
		return nil, nil
	}
	var ids []string
	for _, binding := range bindings.Usable() {
		if _, mapped := field.Classes(binding.Spec.Classes).Of(v1alpha1.ClassStorage, name); mapped {
			ids = append(ids, binding.Spec.ClusterID)
		}
	}
	return ids, nil
}

// refusal says why a bound claim, or its volume, is not sent. It returns nil if it is sent.
func (r *Unscheduled) refusal(ctx context.Context, key client.ObjectKey) (*field.Problem, error) {
	claim, volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}, &corev1.PersistentVolume{}
	if err := r.Live.Get(ctx, key, claim); apierrors.IsNotFound(err) {
		return persistentvolumeclaim.NotBound(claim), nil
	} else if err != nil {
		return nil, fmt.Errorf("getting PersistentVolumeClaim %s: %w", key, err)
	}
	if refusal := persistentvolumeclaim.ClaimRefusal(claim); refusal != nil {
		return refusal, nil
	}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting PersistentVolume %s: %w", claim.Spec.VolumeName, err)
	}
	return persistentvolume.VolumeRefusal(volume, claim), nil // One that is not there is not bound to the claim.
}

// release makes the scheduler choose a node again for claims that wait for a volume on a virtual node to which
// no waiting pod can go. Only the latest releases of the driver do that themselves.
func (r *Unscheduled) release(ctx context.Context, pod *corev1.Pod, claims []unscheduledpod.Claim) error {
	if !slices.ContainsFunc(claims, func(c unscheduledpod.Claim) bool { return c.SelectedNode != "" }) {
		return nil
	}
	var waiting corev1.PodList
	if err := r.Client.List(ctx, &waiting, client.InNamespace(pod.Namespace)); err != nil {
		return fmt.Errorf("listing the pods of namespace %s that wait for a node: %w", pod.Namespace, err)
	}
	for _, claim := range claims {
		if !unscheduledpod.Released(claim, waiting.Items) {
			continue
		}
		key, metadata := client.ObjectKey{Namespace: pod.Namespace, Name: claim.Name}, claimMetadata()
		if err := r.SharedCache.Get(ctx, key, metadata, client.UnsafeDisableDeepCopy); err != nil {
			return client.IgnoreNotFound(err)
		}
		after := metadata.DeepCopy()
		delete(after.Annotations, field.AnnotationSelectedNode)
		if err := r.Client.Patch(ctx, after, precondition.Locked(metadata)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("releasing PersistentVolumeClaim %s: %w", key, err)
		}
		r.Events.Eventf(pod, nil, corev1.EventTypeNormal, unscheduledpod.ReasonClaimReleased, "ReleaseClaim", "%s", conditions.Note(
			"PersistentVolumeClaim "+claim.Name+" waited for a volume on virtual node "+claim.SelectedNode+", where none of its pods can run: the scheduler chooses a node again"))
	}
	return nil
}

func claimMetadata() *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	return metadata
}

func isBound(claim client.Object) bool {
	return claim.GetAnnotations()[field.AnnotationBindCompleted] != ""
}

func selectedNode(claim client.Object) string {
	return claim.GetAnnotations()[field.AnnotationSelectedNode]
}

// virtual returns the virtual node that the scheduler has chosen for a claim, or "".
func virtual(claim client.Object, bindings placement.Index) string {
	selected := selectedNode(claim)
	if selected == "" || !slices.ContainsFunc(bindings.Usable(), func(b *v1alpha1.ClusterBinding) bool { return v1alpha1.SameProvider(selected, b.VirtualNodeName()) }) {
		return ""
	}
	return selected
}

// claimChanges enqueues the pods of a claim that is made, gets a node chosen, or goes. If it is
// bound, each change counts: its phase, which is not in the metadata, follows a moment later.
// Pods of claims that exist at the start are enqueued anyway.
func (r *Unscheduled) claimChanges() source.TypedSource[reconcile.Request] {
	return source.TypedFunc[reconcile.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return informer.Watch(ctx, r.SharedCache, claimMetadata(), func(e informer.Change) {
			if e.Initially || e.Before != nil && e.After != nil && !isBound(e.After) && selectedNode(e.Before) == selectedNode(e.After) {
				return
			}
			for _, request := range r.podsOfClaim(ctx, e.Object()) {
				queue.Add(request)
			}
		})
	})
}

// podsOfClaim returns the pods that wait for a node and name the claim.
func (r *Unscheduled) podsOfClaim(ctx context.Context, claim client.Object) []reconcile.Request {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(claim.GetNamespace())); err != nil { // The cache is ending, and the manager with it.
		log.FromContext(ctx).Error(err, "an event is lost")
		return nil
	}
	var requests []reconcile.Request
	for i := range pods.Items {
		if slices.Contains(needs.Claims(&pods.Items[i]), claim.GetName()) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pods.Items[i])})
		}
	}
	return requests
}
