package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestAccountsOfPods: a remote pod runs as the ServiceAccount to which the local one is mapped, in the namespace
// team-eu of the provider.
func TestAccountsOfPods(t *testing.T) {
	accounts := field.Accounts{{Namespace: "team", Name: "s3", RemoteName: "s3-reader"}, {Namespace: "*", Name: "default", RemoteName: "plain"}}
	for name, test := range map[string]struct{ spec, limits, want string }{
		"not mapped":                    {`serviceAccountName: other`, "*/other+token", `automountServiceAccountToken: false`},
		"mapped":                        {`serviceAccountName: s3`, "team-*/s3-reader", `serviceAccountName: s3-reader, automountServiceAccountToken: false`},
		"mapped, and it asks":           {`serviceAccountName: s3, automountServiceAccountToken: true`, "team-*/s3-reader", `serviceAccountName: s3-reader, automountServiceAccountToken: false`},
		"with a token":                  {`serviceAccountName: s3`, "team-*/s3-reader+token", `serviceAccountName: s3-reader`},
		"with a token, and it asks":     {`serviceAccountName: s3, automountServiceAccountToken: true`, "team-*/s3-reader+token", `serviceAccountName: s3-reader, automountServiceAccountToken: true`},
		"with a token that it declines": {`serviceAccountName: s3, automountServiceAccountToken: false`, "team-*/s3-reader+token", `serviceAccountName: s3-reader, automountServiceAccountToken: false`},
		"a token elsewhere":             {`serviceAccountName: s3`, "team-*/s3-reader, other/s3-reader+token", `serviceAccountName: s3-reader, automountServiceAccountToken: false`},
		"it names no account":           {``, "*/plain", `serviceAccountName: plain, automountServiceAccountToken: false`},
	} {
		t.Run(name, func(t *testing.T) {
			local, limits := fieldtest.PodOf(t, `{spec: {containers: [{name: web}], `+test.spec+`}}`), field.LimitsOf(map[string]string{"serviceAccounts": test.limits})
			before := local.DeepCopy()
			remote := ToRemote(local, fieldtest.Mapped, limits, nil)
			want := remote.Spec.DeepCopy()
			want.AutomountServiceAccountToken = nil
			fieldtest.Merged(t, want, `{`+test.want+`}`)
			runAs(remote, local, accounts, limits)
			if diff := cmp.Diff(want, &remote.Spec); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, local); diff != "" {
				t.Errorf("the local pod was changed: %s", diff)
			}
		})
	}
}

// TestTokenOfTheProvider: a pod that has the token of the ServiceAccount to which it is mapped lacks none, so
// kubectl spillway status does not count it.
func TestTokenOfTheProvider(t *testing.T) {
	accounts := field.Accounts{{Namespace: "team", Name: "s3", RemoteName: "s3-reader"}}
	local := fieldtest.PodOf(t, `{spec: {serviceAccountName: s3, containers: [{name: web}], volumes: [{name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: token}}]}}]}}`)
	for listed, lacks := range map[string]bool{"team-*/s3-reader": true, "team-*/s3-reader+token": false} {
		limits := field.LimitsOf(map[string]string{"serviceAccounts": listed})
		remote := ToRemote(local, fieldtest.Mapped, limits, nil)
		runAs(remote, local, accounts, limits)
		remote.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}}
		s := snapshot{ObjectState: decide.ObjectState[*corev1.Pod]{Local: local, Inputs: decide.Inputs{Limits: limits}}, RemoteState: decide.RemoteState[*corev1.Pod]{Remote: remote}}
		if said := notSentRemark(s); (said != nil) != lacks {
			t.Errorf("%s: %v", listed, said)
		}
	}
}
