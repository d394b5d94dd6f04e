package secret

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/controllers/toprovider/configmap"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestDataIsCopied(t *testing.T) {
	local := fieldtest.Parse[corev1.Secret](t, `{metadata: {namespace: team, name: web, uid: uid}, type: kubernetes.io/tls, immutable: true, data: {k: dg==}}`)
	remote, refusal := toRemote(local, fieldtest.Shared)
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := local.DeepCopy()
	want.ObjectMeta = metav1.ObjectMeta{Name: fieldtest.Shared.Name("team", "web"), Namespace: "mount", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf(";")}
	if diff := cmp.Diff(want, remote); diff != "" {
		t.Error(diff)
	}
	remote.Data["k"][0] = 'x'
	if string(local.Data["k"]) != "v" {
		t.Error("the local Secret was changed")
	}
}

// TestMetadataOfDataIsMade: metadata is built, not copied, because labels and annotations may be
// commands.
func TestMetadataOfDataIsMade(t *testing.T) {
	const metadata = `{namespace: team, name: web, uid: uid, resourceVersion: "5", finalizers: [f], labels: {app: web}, ownerReferences: [{kind: x, name: y}]}`
	want := metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf("app;")}
	want.Labels["app"] = "web"
	config, refusal := configmap.ToRemote(fieldtest.Parse[corev1.ConfigMap](t, `{metadata: `+metadata+`, data: {k: v}}`), fieldtest.Mapped)
	if diff := cmp.Diff(&corev1.ConfigMap{ObjectMeta: want, Data: map[string]string{"k": "v"}}, config); diff != "" || refusal != nil {
		t.Errorf("%v, (-want +got):\n%s", refusal, diff)
	}
	secret, refusal := toRemote(fieldtest.Parse[corev1.Secret](t, `{metadata: `+metadata+`, data: {k: dg==}}`), fieldtest.Mapped)
	if diff := cmp.Diff(&corev1.Secret{ObjectMeta: want, Data: map[string][]byte{"k": []byte("v")}}, secret); diff != "" || refusal != nil {
		t.Errorf("%v, (-want +got):\n%s", refusal, diff)
	}
}

func TestDataRefusals(t *testing.T) {
	const secret, configMap = "Secret", "ConfigMap"
	tests := map[string]struct {
		kind, manifest string
		want           *field.Problem
	}{
		"Secret":                {secret, `{metadata: {name: s}}`, nil},
		"pull Secret":           {secret, `{metadata: {name: s}, type: kubernetes.io/dockerconfigjson}`, nil},
		"service account token": {secret, `{metadata: {name: s}, type: kubernetes.io/service-account-token}`, &field.Problem{Reason: field.ReasonCredentials, Message: "Secret s has type kubernetes.io/service-account-token: it gives access to the consumer's API server"}},
		"bootstrap token":       {secret, `{metadata: {name: s}, type: bootstrap.kubernetes.io/token}`, &field.Problem{Reason: field.ReasonCredentials, Message: "Secret s has type bootstrap.kubernetes.io/token: it gives access to the consumer's API server"}},
		"labelled":              {secret, `{metadata: {name: s, labels: {spillway.io/sync: never}}}`, &field.Problem{Reason: field.ReasonSyncNever, Message: "Secret s has spillway.io/sync=never"}},
		"annotated":             {secret, `{metadata: {name: s, annotations: {spillway.io/sync: never}}}`, &field.Problem{Reason: field.ReasonSyncNever, Message: "Secret s has spillway.io/sync=never"}},
		"labelled otherwise":    {secret, `{metadata: {name: s, labels: {spillway.io/sync: always}}}`, nil},
		"ConfigMap":             {configMap, `{metadata: {name: c}}`, nil},
		"ConfigMap, labelled":   {configMap, `{metadata: {name: c, labels: {spillway.io/sync: never}}}`, &field.Problem{Reason: field.ReasonSyncNever, Message: "ConfigMap c has spillway.io/sync=never"}},
		"root certificate":      {configMap, `{metadata: {name: kube-root-ca.crt}}`, &field.Problem{Reason: field.ReasonEveryNamespaceHasOne, Message: "ConfigMap kube-root-ca.crt: each namespace in the provider has its own, with another certificate"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var refusal *field.Problem
			if test.kind == secret {
				_, refusal = toRemote(fieldtest.Parse[corev1.Secret](t, test.manifest), fieldtest.Mapped)
			} else {
				_, refusal = configmap.ToRemote(fieldtest.Parse[corev1.ConfigMap](t, test.manifest), fieldtest.Mapped)
			}
			if diff := cmp.Diff(test.want, refusal); diff != "" {
				t.Error(diff)
			}
		})
	}
}
