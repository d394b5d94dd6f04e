package translate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// everyReference is a pod that names an object in every possible field.
const everyReference = `
spec:
  imagePullSecrets: [{name: pull}, {name: ""}]
  initContainers:
  - {name: init, env: [{name: a, valueFrom: {configMapKeyRef: {name: init-env, key: k, optional: true}}}]}
  containers:
  - name: web
    envFrom: [{configMapRef: {name: from}}, {secretRef: {name: from-secret, optional: true}}]
    env: [{name: a, value: literal}, {name: b, valueFrom: {secretKeyRef: {name: env-secret, key: k}}}, {name: c, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    volumeMounts: [{name: kube-api-access-x, mountPath: /var/run}, {name: config, mountPath: /config}]
  ephemeralContainers:
  - {name: debug, envFrom: [{secretRef: {name: debug}}]}
  - {name: root, securityContext: {privileged: true}, envFrom: [{secretRef: {name: never}}]}
  volumes:
  - {name: config, configMap: {name: both, optional: true}}
  - {name: secret, secret: {secretName: volume-secret}}
  - {name: claim, persistentVolumeClaim: {claimName: data}}
  - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {}}}}
  - {name: csi, csi: {driver: d, nodePublishSecretRef: {name: csi}}}
  - {name: iscsi, iscsi: {targetPortal: t, iqn: i, lun: 1, secretRef: {name: chap}}}
  - {name: empty, emptyDir: {}}
  - name: projected
    projected: {sources: [{configMap: {name: both}}, {secret: {name: projected, optional: true}}, {downwardAPI: {}}, {configMap: {name: kube-root-ca.crt}}]}
  - name: kube-api-access-x
    projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: kube-root-ca.crt}}, {downwardAPI: {}}]}`

func TestPodReferences(t *testing.T) {
	tests := map[string]struct {
		pod  string
		want References
	}{
		"none": {`{spec: {containers: [{name: web}]}}`, References{}},
		"everywhere": {everyReference, References{
			ConfigMaps: []Reference{{"both", false}, {"from", false}, {"init-env", true}},
			Secrets: []Reference{{"chap", false}, {"csi", false}, {"debug", false}, {"env-secret", false}, {"from-secret", true},
				{"projected", true}, {"pull", true}, {"volume-secret", false}},
			PersistentVolumeClaims: []Reference{{"data", false}, {"web-scratch", false}},
		}},
		"optional everywhere": {`{spec: {volumes: [{name: a, configMap: {name: c, optional: true}}, {name: b, configMap: {name: c, optional: true}}]}}`,
			References{ConfigMaps: []Reference{{"c", true}}}},
		"optional in each place": {`
spec:
  volumes: [{name: a, secret: {secretName: a, optional: true}}, {name: b, projected: {sources: [{configMap: {name: b, optional: true}}, {secret: {name: c, optional: true}}]}}]
  containers:
  - name: web
    envFrom: [{configMapRef: {name: d, optional: true}}, {secretRef: {name: e, optional: true}}]
    env:
    - {name: F, valueFrom: {configMapKeyRef: {name: f, key: k, optional: true}}}
    - {name: G, valueFrom: {secretKeyRef: {name: g, key: k, optional: true}}}`, References{
			ConfigMaps: []Reference{{"b", true}, {"d", true}, {"f", true}}, Secrets: []Reference{{"a", true}, {"c", true}, {"e", true}, {"g", true}}}},
		"a claim of two volumes": {`{spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: c}}, {name: b, persistentVolumeClaim: {claimName: c}}]}}`,
			References{PersistentVolumeClaims: []Reference{{"c", false}}}},
		"volumes without Secrets": {`{spec: {volumes: [{name: a, csi: {driver: d}}, {name: b, iscsi: {targetPortal: p}}]}}`, References{}},
		"the injected token needs nothing": {
			`{spec: {volumes: [{name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: kube-root-ca.crt}}]}}]}}`, References{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(t, test.pod)
			before := pod.DeepCopy()
			if diff := cmp.Diff(test.want, PodReferences(pod)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("the pod was changed: %s", diff)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	pod := podOf(t, `{spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: c}}, {name: b, ephemeral: {}}, {name: d, persistentVolumeClaim: {claimName: c}}, {name: e, emptyDir: {}}]}}`)
	if diff := cmp.Diff([]string{"c", pod.Name + "-b"}, Claims(pod)); diff != "" {
		t.Error(diff)
	}
	for i := range 1000 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint(i)}}})
	}
	if n := len(Claims(pod)); n != MostClaims+1 {
		t.Errorf("%d claims of a thousand, want %d", n, MostClaims+1)
	}
}

// A remote pod names exactly the objects that PodReferences returns for the local one, by their remote
// names. So every object that is renamed is sent, and every object that is sent is renamed.
func TestReferencesAreThoseOfTheRemotePod(t *testing.T) {
	for name, target := range map[string]Target{"mapped": mapped, "shared": shared} {
		t.Run(name, func(t *testing.T) {
			local := podOf(t, everyReference)
			remote := sentPod(t, local, target)
			remote.Spec.EphemeralContainers = PodUpdate(local, remote, target, generous).Ephemeral.Spec.EphemeralContainers
			want := PodReferences(local)
			for _, list := range [][]Reference{want.ConfigMaps, want.Secrets, want.PersistentVolumeClaims} {
				for i := range list {
					list[i].Name = target.Name("team", list[i].Name)
				}
			}
			want = References{deduplicated(want.ConfigMaps), deduplicated(want.Secrets), deduplicated(want.PersistentVolumeClaims)}
			if diff := cmp.Diff(want, PodReferences(remote)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
