package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/test/faults/world"
)

// Whatever happens to the manager, a claim gets one volume in the provider, which keeps its data without a pod, and is
// deleted with the claim.
var claimLife = Scenario{
	Name: "provided-claim-life", Prepare: storing(world.P1),
	Steps: []Step{{
		Name:  "the scheduler chooses the provider for a claim",
		Do:    storedClaim,
		Until: storedAs("1Gi", "", ""),
	}, {
		Name: "a pod needs it",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, mounting(world.Pod(team, web, world.P1)))
		},
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), storedAs("1Gi", "1Gi", ""), noteClaim),
	}, {
		Name: "the claim grows",
		Do: change(world.Consumer, named(team, data), func(_ *world.World, claim *corev1.PersistentVolumeClaim) {
			claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		}),
		Until: all(storedAs("2Gi", "2Gi", ""), sameClaim),
	}, {
		Name:  "the pod is deleted",
		Do:    deleteLocal(&corev1.Pod{}, team, web),
		Until: all(podGone(team, web, world.P1), storedAs("2Gi", "2Gi", ""), sameClaim),
	}, {
		Name:  "the claim is deleted",
		Do:    deleteLocal(&corev1.PersistentVolumeClaim{}, team, data),
		Until: all(gone[corev1.PersistentVolumeClaim](world.Consumer, named(team, data)), gone[corev1.PersistentVolumeClaim](world.P1, remotely(team, data)), noVolume),
	}},
}

// A retained volume stays when its claim is deleted, in both clusters. It stays in the provider when the consumer's
// volume is deleted.
var claimRetained = Scenario{
	Name: "provided-claim-retained", Prepare: withStored,
	Steps: []Step{{
		Name: "its volume is to be retained, and the claim is deleted",
		Do: func(ctx context.Context, w *world.World) error {
			volume, err := standIn(ctx, w)
			if err != nil {
				return err
			}
			before := volume.DeepCopy()
			volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
			if err := w.Consumer.Admin.Patch(ctx, volume, client.MergeFrom(before)); err != nil {
				return err
			}
			return deleteLocal(&corev1.PersistentVolumeClaim{}, team, data)(ctx, w)
		},
		Until: all(gone[corev1.PersistentVolumeClaim](world.Consumer, named(team, data)), keptThere),
	}, {
		Name: "its volume is deleted",
		Do: func(ctx context.Context, w *world.World) error {
			volumes, err := standIns(ctx, w)
			if err != nil || len(volumes) != 1 {
				return wrap("PersistentVolumes", err, same("their number", len(volumes), 1))
			}
			return w.Consumer.Admin.Delete(ctx, &volumes[0])
		},
		Until: all(noVolume, keptThere),
	}},
}

// A remote namespace with a volume is not deleted before its claim.
var claimHolds = Scenario{
	Name: "provided-claim-holds-its-namespace", Prepare: withStored,
	Steps: []Step{{
		Name:  "the offloading is deleted",
		Do:    deleteLocal(&v1alpha1.NamespaceOffloading{}, team, v1alpha1.OffloadingName),
		Until: all(volumesRemain, sameClaim),
	}, {
		Name: "the claim is deleted",
		Do:   deleteLocal(&corev1.PersistentVolumeClaim{}, team, data),
		Until: all(gone[corev1.PersistentVolumeClaim](world.Consumer, named(team, data)), noVolume,
			gone[v1alpha1.NamespaceOffloading](world.Consumer, named(team, v1alpha1.OffloadingName)), gone[corev1.Namespace](world.P1, remoteNamespace(team))),
	}},
}

// storing binds a provider that creates volumes, and offloads the team's namespace to it.
func storing(provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := w.Bind(ctx, world.Stored, provider); err != nil {
			return err
		}
		if err := w.Offload(ctx, team); err != nil {
			return err
		}
		return eventually(ctx, w, all(bound(provider), offloaded(team, provider)))
	}
}

// withStored makes a claim have a volume in the provider, which a pod has used.
func withStored(ctx context.Context, w *world.World) error {
	if err := storing(world.P1)(ctx, w); err != nil {
		return err
	}
	if err := storedClaim(ctx, w); err != nil {
		return err
	}
	if err := w.Create(ctx, mounting(world.Pod(team, web, world.P1))); err != nil {
		return err
	}
	if err := eventually(ctx, w, all(podIs(corev1.PodRunning, team, web, world.P1), storedAs("1Gi", "1Gi", ""), noteClaim)); err != nil {
		return err
	}
	if err := deleteLocal(&corev1.Pod{}, team, web)(ctx, w); err != nil {
		return err
	}
	return eventually(ctx, w, podGone(team, web, world.P1))
}

// storedClaim creates the claim as it is once Kubernetes wants a volume on the virtual node.
func storedClaim(ctx context.Context, w *world.World) error {
	return w.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: data, Annotations: map[string]string{
			field.AnnotationStorageProvisioner: v1alpha1.StorageDriver, field.AnnotationSelectedNode: v1alpha1.VirtualNodePrefix + world.P1,
		}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(world.StoredHere), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})
}

// standIns returns the consumer's volumes that stand for one in a provider.
func standIns(ctx context.Context, w *world.World) ([]corev1.PersistentVolume, error) {
	var volumes corev1.PersistentVolumeList
	err := w.Consumer.Admin.List(ctx, &volumes)
	return volumes.Items, err
}

// standIn returns the volume to which the claim is bound.
func standIn(ctx context.Context, w *world.World) (*corev1.PersistentVolume, error) {
	claim, err := get[corev1.PersistentVolumeClaim](ctx, w, world.Consumer, team, data)
	if err != nil {
		return nil, err
	}
	return get[corev1.PersistentVolume](ctx, w, world.Consumer, "", field.VolumeName(world.P1, claim.UID))
}

// storedAs wants the claim to be bound to the volume that stands for the remote claim, which asks for that much, and
// has that much; "": it is not bound.
func storedAs(asked, has, keptFor string) Func {
	return func(ctx context.Context, w *world.World) error {
		volume, err := standIn(ctx, w)
		if err != nil {
			return err
		}
		local, err := get[corev1.PersistentVolumeClaim](ctx, w, world.Consumer, team, data)
		if err != nil {
			return err
		}
		remote, err := get[corev1.PersistentVolumeClaim](ctx, w, world.P1, w.Remote(team), data)
		if err != nil {
			return err
		}
		phase, size := corev1.ClaimBound, has
		if has == "" {
			phase, size = remote.Status.Phase, asked
		}
		return wrap("the claim with its volume",
			same("the phase", local.Status.Phase, corev1.ClaimBound), same("the phase there", remote.Status.Phase, phase),
			same("that it stays", remote.DeletionTimestamp.IsZero(), true), same("the note", remote.Annotations[v1alpha1.AnnotationKeptFor], keptFor),
			same("what the volume stands for", volume.Spec.CSI.VolumeHandle, string(remote.UID)),
			same("what is asked for there", remote.Spec.Resources.Requests.Storage().String(), asked),
			same("what the volume has", volume.Spec.Capacity.Storage().String(), size))
	}
}

// noteClaim remembers which remote claim has the data, and sameClaim wants it to stay.
func noteClaim(ctx context.Context, w *world.World) error {
	remote, err := get[corev1.PersistentVolumeClaim](ctx, w, world.P1, w.Remote(team), data)
	if err != nil {
		return err
	}
	w.Notes["claim"] = string(remote.UID)
	return nil
}

func sameClaim(ctx context.Context, w *world.World) error {
	remote, err := get[corev1.PersistentVolumeClaim](ctx, w, world.P1, w.Remote(team), data)
	if err != nil {
		return err
	}
	return wrap("the remote claim", same("its UID", string(remote.UID), w.Notes["claim"]), same("that it stays", remote.DeletionTimestamp.IsZero(), true))
}

// keptThere wants the data to stay in the provider without a claim.
func keptThere(ctx context.Context, w *world.World) error {
	remote, err := get[corev1.PersistentVolumeClaim](ctx, w, world.P1, w.Remote(team), data)
	if err != nil {
		return err
	}
	return wrap("the kept claim", sameClaim(ctx, w), same("that it is noted", remote.Annotations[v1alpha1.AnnotationKeptFor] != "", true))
}

func noVolume(ctx context.Context, w *world.World) error {
	volumes, err := standIns(ctx, w)
	return wrap("PersistentVolumes", err, same("their number", len(volumes), 0))
}

// volumesRemain wants the offloading to say what it waits for.
func volumesRemain(ctx context.Context, w *world.World) error {
	offloading, err := get[v1alpha1.NamespaceOffloading](ctx, w, world.Consumer, team, v1alpha1.OffloadingName)
	if err != nil {
		return err
	}
	reason := ""
	if is := meta.FindStatusCondition(offloading.Status.Conditions, v1alpha1.OffloadingReady); is != nil {
		reason = is.Reason
	}
	return wrap("NamespaceOffloading of "+team, same("the reason", reason, v1alpha1.ReasonVolumesRemain))
}
