package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/test/faults/world"
)

var podWithObjects = Scenario{
	Name: "pod-with-configmap-secret-and-claim", Prepare: all(bindAndOffload(world.P1), withClaim),
	Steps: []Step{{
		Name: "a pod is created that needs them",
		Do: func(ctx context.Context, w *world.World) error {
			pod := mounting(using(world.Pod(team, web, world.P1), settings, password))
			return w.Create(ctx, configMap("1"), secret("1"), pod)
		},
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), configMapIs("1", world.P1, remotely(team, settings)),
			secretIs("1", world.P1, remotely(team, password)), claimIsBound(world.P1)),
	}, {
		Name: "its user deletes it",
		Do:   deleteLocal(&corev1.Pod{}, team, web),
		Until: all(podGone(team, web, world.P1),
			gone[corev1.ConfigMap](world.P1, remotely(team, settings)), unmarked[corev1.ConfigMap](team, settings),
			gone[corev1.Secret](world.P1, remotely(team, password)), unmarked[corev1.Secret](team, password),
			gone[corev1.PersistentVolumeClaim](world.P1, remotely(team, data)), unmarked[corev1.PersistentVolumeClaim](team, data),
			gone[corev1.PersistentVolume](world.P1, remoteVolume(world.P1)), unmarked[corev1.PersistentVolume]("", data)),
	}},
}

var configMapChanged = Scenario{
	Name: "configmap-changed", Prepare: withObjects(world.P1),
	Steps: []Step{{
		Name: "it is changed",
		Do: change(world.Consumer, named(team, settings), func(_ *world.World, original *corev1.ConfigMap) {
			original.Data[key] = "2"
		}),
		Until: all(configMapIs("2", world.P1, remotely(team, settings)), podIs(corev1.PodRunning, team, web, world.P1)),
	}},
}

var secretDeleted = Scenario{
	Name: "secret-deleted", Prepare: withObjects(world.P1),
	Steps: []Step{{
		Name: "it is deleted, while the pod needs it",
		Do:   deleteLocal(&corev1.Secret{}, team, password),
		Until: all(gone[corev1.Secret](world.Consumer, named(team, password)), gone[corev1.Secret](world.P1, remotely(team, password)),
			podIs(corev1.PodRunning, team, web, world.P1)),
	}, {
		Name:  "it is made again",
		Do:    func(ctx context.Context, w *world.World) error { return w.Create(ctx, secret("2")) },
		Until: secretIs("2", world.P1, remotely(team, password)),
	}},
}

// key is the data key of all ConfigMaps and Secrets here.
const key = "key"

func configMap(value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: settings}, Data: map[string]string{key: value}}
}

func secret(value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: password}, Data: map[string][]byte{key: []byte(value)}}
}

// using makes a pod need a ConfigMap and, unless it is "", a Secret.
func using(pod *corev1.Pod, configMap, secret string) *corev1.Pod {
	from := []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}}}
	if secret != "" {
		from = append(from, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}})
	}
	pod.Spec.Containers[0].EnvFrom = from
	return pod
}

// mounting makes a pod need the claim.
func mounting(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Volumes = []corev1.Volume{{Name: data, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: data},
	}}}
	return pod
}

// withClaim creates a claim and a volume that are bound to each other.
func withClaim(ctx context.Context, w *world.World) error {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: data},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: data, StorageClassName: ptr.To("example"), AccessModes: modes,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	if err := w.Create(ctx, claim); err != nil {
		return err
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: data},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "example", AccessModes: modes, Capacity: size, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/data"}},
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: team, Name: data, UID: claim.UID},
		},
	}
	if err := w.Create(ctx, volume); err != nil {
		return err
	}
	return eventually(ctx, w, claimOf(world.Consumer, named(team, data), named("", data)))
}
