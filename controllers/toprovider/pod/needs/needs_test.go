package needs

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestPodReferences(t *testing.T) {
	tests := map[string]struct {
		pod  string
		want References
	}{
		"none": {`{spec: {containers: [{name: web}]}}`, References{}},
		"everywhere": {fieldtest.EveryReference, References{
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
			pod := fieldtest.PodOf(t, test.pod)
			before := pod.DeepCopy()
			if diff := cmp.Diff(test.want, Of(pod)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("the pod was changed: %s", diff)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	pod := fieldtest.PodOf(t, `{spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: c}}, {name: b, ephemeral: {}}, {name: d, persistentVolumeClaim: {claimName: c}}, {name: e, emptyDir: {}}]}}`)
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
