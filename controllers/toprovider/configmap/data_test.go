package configmap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestMetadataOfDataIsMade: metadata is built, not copied, because labels and annotations may be
// commands.
func TestMetadataOfDataIsMade(t *testing.T) {
	local := fieldtest.Parse[corev1.ConfigMap](t, `{data: {k: v}, metadata: {namespace: team, name: web, uid: uid, resourceVersion: "5", finalizers: [f], labels: {app: web}, ownerReferences: [{kind: x, name: y}]}}`)
	want := metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf("app;")}
	want.Labels["app"] = "web"
	remote, refusal := toRemote(local, fieldtest.Mapped)
	if diff := cmp.Diff(&corev1.ConfigMap{ObjectMeta: want, Data: map[string]string{"k": "v"}}, remote); diff != "" || refusal != nil {
		t.Errorf("%v, (-want +got):\n%s", refusal, diff)
	}
}

func TestDataRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		manifest string
		want     *field.Problem
	}{
		"ConfigMap":        {`{metadata: {name: c}}`, nil},
		"labelled":         {`{metadata: {name: c, labels: {spillway.io/sync: never}}}`, &field.Problem{Reason: field.ReasonSyncNever, Message: "ConfigMap c has spillway.io/sync=never"}},
		"root certificate": {`{metadata: {name: kube-root-ca.crt}}`, &field.Problem{Reason: field.ReasonEveryNamespaceHasOne, Message: "ConfigMap kube-root-ca.crt: each namespace in the provider has its own, with another certificate"}},
	} {
		_, refusal := toRemote(fieldtest.Parse[corev1.ConfigMap](t, test.manifest), fieldtest.Mapped)
		if diff := cmp.Diff(test.want, refusal); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
