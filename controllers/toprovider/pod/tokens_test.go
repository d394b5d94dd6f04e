package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestPodWithTokens: where names are hashed, too, the pod mounts the Secret of its own tokens.
func TestPodWithTokens(t *testing.T) {
	local := fieldtest.PodOf(t, `
spec:
  serviceAccountName: controller
  containers: [{name: web, volumeMounts: [{name: kube-api-access-x, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]
  ephemeralContainers: [{name: debug, volumeMounts: [{name: kube-api-access-x, mountPath: /token}]}]
  volumes:
  - {name: own, secret: {secretName: own}}
  - name: kube-api-access-x
    projected:
      sources:
      - {serviceAccountToken: {path: token, expirationSeconds: 3607}}
      - {configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}}
      - {downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}}`)
	api := field.ConsumerAPI{
		Endpoint: &v1alpha1.ConsumerAPI{Host: "api.example.com", Port: 443},
		Lists:    func(namespace, account string) bool { return namespace == "team" && account == "controller" },
	}
	around := decide.Inputs{Limits: &field.Limits{}, API: api}
	if refusal := refusalOf(local, around); refusal != nil || !usesTokens(local, around) {
		t.Fatalf("refused: %v", refusal)
	}
	for name, around := range map[string]decide.Inputs{"not listed": {Limits: &field.Limits{}}, "no place": {Limits: &field.Limits{}, API: field.ConsumerAPI{Lists: api.Lists}}} {
		if refusal := refusalOf(local, around); (refusal != nil) != (name == "no place") {
			t.Errorf("%s: %v", name, refusal)
		}
	}
	ended := local.DeepCopy()
	ended.Status.Phase = corev1.PodSucceeded
	if usesTokens(ended, around) {
		t.Error("a pod that has ended gets tokens")
	}
	remote := WithAPI(local, fieldtest.Shared, fieldtest.Generous, nil, api.Endpoint)
	want := fieldtest.PodOf(t, `
spec:
  volumes:
  - {name: own, secret: {secretName: `+fieldtest.Shared.Name("team", "own")+`}}
  - name: kube-api-access-x
    projected:
      sources:
      - {secret: {name: spillway-token-uid, items: [{key: token, path: token}]}}
      - {secret: {name: spillway-token-uid, items: [{key: ca.crt, path: ca.crt}]}}
      - {downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: "metadata.annotations['spillway.io/local-namespace']"}}]}}`)
	if diff := cmp.Diff(want.Spec.Volumes, remote.Spec.Volumes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(local.Spec.Containers[0].VolumeMounts, remote.Spec.Containers[0].VolumeMounts); diff != "" {
		t.Errorf("the mounts (-want +got)\n%s", diff)
	}
	debug := Update(local, remote, fieldtest.Shared, fieldtest.Generous).Ephemeral.Spec.EphemeralContainers[0]
	if diff := cmp.Diff(remote.Spec.Containers[0].Env, debug.Env); diff != "" || len(debug.VolumeMounts) != 1 {
		t.Errorf("a debug container mounts %v, and has other variables (-want +got)\n%s", debug.VolumeMounts, diff)
	}
	plain := ToRemote(local, fieldtest.Shared, fieldtest.Generous, nil)
	debug = Update(local, plain, fieldtest.Shared, fieldtest.Generous).Ephemeral.Spec.EphemeralContainers[0]
	if len(plain.Spec.Volumes) != 1 || len(plain.Spec.Containers[0].Env) > 0 || len(debug.VolumeMounts)+len(debug.Env) > 0 {
		t.Errorf("without an API: %v, %v", plain.Spec, debug)
	}
}
