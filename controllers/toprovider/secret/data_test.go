package secret

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	secret, refusal := toRemote(fieldtest.Parse[corev1.Secret](t, `{metadata: `+metadata+`, data: {k: dg==}}`), fieldtest.Mapped)
	if diff := cmp.Diff(&corev1.Secret{ObjectMeta: want, Data: map[string][]byte{"k": []byte("v")}}, secret); diff != "" || refusal != nil {
		t.Errorf("%v, (-want +got):\n%s", refusal, diff)
	}
}

func TestDataRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		manifest string
		want     *field.Problem
	}{
		"Secret":                {`{metadata: {name: s}}`, nil},
		"pull Secret":           {`{metadata: {name: s}, type: kubernetes.io/dockerconfigjson}`, nil},
		"service account token": {`{metadata: {name: s}, type: kubernetes.io/service-account-token}`, &field.Problem{Reason: field.ReasonCredentials, Message: "Secret s has type kubernetes.io/service-account-token: it gives access to the consumer's API server"}},
		"bootstrap token":       {`{metadata: {name: s}, type: bootstrap.kubernetes.io/token}`, &field.Problem{Reason: field.ReasonCredentials, Message: "Secret s has type bootstrap.kubernetes.io/token: it gives access to the consumer's API server"}},
		"labelled":              {`{metadata: {name: s, labels: {spillway.io/sync: never}}}`, &field.Problem{Reason: field.ReasonSyncNever, Message: "Secret s has spillway.io/sync=never"}},
		"annotated":             {`{metadata: {name: s, annotations: {spillway.io/sync: never}}}`, &field.Problem{Reason: field.ReasonSyncNever, Message: "Secret s has spillway.io/sync=never"}},
		"labelled otherwise":    {`{metadata: {name: s, labels: {spillway.io/sync: always}}}`, nil},
	} {
		_, refusal := toRemote(fieldtest.Parse[corev1.Secret](t, test.manifest), fieldtest.Mapped)
		if diff := cmp.Diff(test.want, refusal); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
