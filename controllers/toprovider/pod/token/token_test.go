package token

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestGranted(t *testing.T) {
	const injected = `{name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: token, expirationSeconds: 3607}}]}}`
	vault := func(seconds string) string {
		return `{name: vault` + seconds + `, projected: {sources: [{serviceAccountToken: {path: t, audience: vault, expirationSeconds: ` + seconds + `}}]}}`
	}
	listed := field.ConsumerAPI{Lists: func(namespace, account string) bool { return namespace == "team" && account == "web" }}
	for name, test := range map[string]struct {
		account, volumes string
		want             []Wanted
	}{
		"the injected one, never for a year": {"web", injected, []Wanted{{"", 3600}}},
		"an account that is not listed":      {"other", injected, nil},
		"without an account":                 {"", injected, nil},
		"no token":                           {"web", `{name: v, emptyDir: {}}`, nil},
		"an audience, for as long as asked":  {"web", vault("600"), []Wanted{{"vault", 600}}},
		"one for each audience":              {"web", injected + "," + vault("7200") + "," + vault("900"), []Wanted{{"", 3600}, {"vault", 900}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := fieldtest.PodOf(t, `{metadata: {namespace: team}, spec: {serviceAccountName: "`+test.account+`", volumes: [`+test.volumes+`]}}`)
			if diff := cmp.Diff(test.want, Granted(pod, listed)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := Granted(pod, field.ConsumerAPI{}); got != nil {
				t.Errorf("where nothing is listed: %v", got)
			}
		})
	}
	if (Wanted{Audience: "a"}).Key() == (Wanted{Audience: "b"}).Key() || (Wanted{}).Key() != "token" {
		t.Error("two audiences have one key, or the API server another than token")
	}
}

func TestMount(t *testing.T) {
	api := &v1alpha1.ConsumerAPI{Host: "api.example.com", Port: 6443, IP: "10.1.2.3"}
	remote := fieldtest.PodOf(t, `
spec:
  initContainers: [{name: init, env: [{name: KUBERNETES_SERVICE_HOST, value: mine}]}]
  containers: [{name: web, env: [{name: URL, value: https://$(KUBERNETES_SERVICE_HOST)}]}]
  volumes:
  - {name: other, projected: {sources: [{configMap: {name: kube-root-ca.crt}}]}}
  - {name: vault, projected: {sources: [{serviceAccountToken: {audience: vault, path: t}}, {secret: {name: s}}]}}
  - name: kube-api-access-x
    projected:
      defaultMode: 420
      sources:
      - {serviceAccountToken: {path: token, expirationSeconds: 3607}}
      - {configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}}
      - {downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}}`)
	Mount(&remote.Spec, "uid", api)
	want := fieldtest.PodOf(t, `
spec:
  hostAliases: [{ip: 10.1.2.3, hostnames: [api.example.com]}]
  initContainers:
  - name: init
    env: [{name: KUBERNETES_SERVICE_PORT, value: "6443"}, {name: KUBERNETES_SERVICE_PORT_HTTPS, value: "6443"}, {name: KUBERNETES_SERVICE_HOST, value: mine}]
  containers:
  - name: web
    env:
    - {name: KUBERNETES_SERVICE_HOST, value: api.example.com}
    - {name: KUBERNETES_SERVICE_PORT, value: "6443"}
    - {name: KUBERNETES_SERVICE_PORT_HTTPS, value: "6443"}
    - {name: URL, value: https://$(KUBERNETES_SERVICE_HOST)}
  volumes:
  - {name: other, projected: {sources: [{configMap: {name: kube-root-ca.crt}}]}}
  - {name: vault, projected: {sources: [{secret: {name: spillway-token-uid, items: [{key: `+(Wanted{Audience: "vault"}).Key()+`, path: t}]}}, {secret: {name: s}}]}}
  - name: kube-api-access-x
    projected:
      defaultMode: 420
      sources:
      - {secret: {name: spillway-token-uid, items: [{key: token, path: token}]}}
      - {secret: {name: spillway-token-uid, items: [{key: ca.crt, path: ca.crt}]}}
      - {downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}}`)
	if diff := cmp.Diff(want.Spec, remote.Spec); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !Uses(&remote.Spec, "uid") || Uses(&remote.Spec, "other") {
		t.Error("the remote pod uses the Secret of its own local pod, and no other")
	}
	debug := &corev1.EphemeralContainer{}
	MountLater(debug, &remote.Spec)
	if diff := cmp.Diff(want.Spec.Containers[0].Env[:3], debug.Env); diff != "" {
		t.Errorf("a debug container (-want +got)\n%s", diff)
	}
}
