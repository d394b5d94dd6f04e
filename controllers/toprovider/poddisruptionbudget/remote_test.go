package poddisruptionbudget

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// budgetOf returns the PodDisruptionBudget team/web with that content.
func budgetOf(t testing.TB, content string) *policyv1.PodDisruptionBudget {
	t.Helper()
	budget := fieldtest.Parse[policyv1.PodDisruptionBudget](t, `{metadata: {namespace: team, name: web, uid: uid, labels: {app: web}}}`)
	fieldtest.Merged(t, budget, content)
	return budget
}

// TestPodDisruptionBudget compares the remote budget for a number of healthy pods in the provider.
func TestPodDisruptionBudget(t *testing.T) {
	const selector = `selector: {matchLabels: {app: web}}, `
	half, one := `{spec: {`+selector+`minAvailable: 50%}, status: `, `{spec: {`+selector+`maxUnavailable: 1}, status: `
	for name, test := range map[string]struct {
		local   string
		healthy int
		want    string
	}{
		"half of six, two of them there":    {half + `{desiredHealthy: 3, currentHealthy: 6}}`, 2, `{` + selector + `minAvailable: 0, unhealthyPodEvictionPolicy: AlwaysAllow}`},
		"half of six, five of them there":   {half + `{desiredHealthy: 3, currentHealthy: 6}}`, 5, `{` + selector + `minAvailable: 2}`},
		"half of six, all of them there":    {half + `{desiredHealthy: 3, currentHealthy: 6}}`, 6, `{` + selector + `minAvailable: 3}`},
		"half of six, one elsewhere is not": {half + `{desiredHealthy: 3, currentHealthy: 5}}`, 4, `{` + selector + `minAvailable: 2}`},
		"one of six may be missing":         {one + `{desiredHealthy: 5, currentHealthy: 6}}`, 2, `{` + selector + `minAvailable: 1}`},
		"one elsewhere is missing":          {one + `{desiredHealthy: 5, currentHealthy: 5}}`, 2, `{` + selector + `minAvailable: 2}`},
		"one there is missing":              {one + `{desiredHealthy: 5, currentHealthy: 5}}`, 1, `{` + selector + `minAvailable: 1}`},
		"more are missing than may be":      {one + `{desiredHealthy: 5, currentHealthy: 3}}`, 2, `{` + selector + `minAvailable: 4}`},
		"the pods are known first":          {one + `{desiredHealthy: 5, currentHealthy: 1}}`, 2, `{` + selector + `minAvailable: 5}`},
		"none is there":                     {one + `{desiredHealthy: 5, currentHealthy: 6}}`, 0, `{` + selector + `minAvailable: 0, unhealthyPodEvictionPolicy: AlwaysAllow}`},
		"none is wanted":                    {half + `{}}`, 0, `{` + selector + `minAvailable: 0}`},
		"a number, and nothing is healthy":  {`{spec: {` + selector + `minAvailable: 2}, status: {desiredHealthy: 2}}`, 0, `{` + selector + `minAvailable: 2}`},
		"unhealthy pods may always go": {`{spec: {` + selector + `minAvailable: 2, unhealthyPodEvictionPolicy: AlwaysAllow}, status: {desiredHealthy: 2, currentHealthy: 2}}`, 1,
			`{` + selector + `minAvailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow}`},
		"by an alias": {`{spec: {selector: {matchLabels: {example.com/role: web}}, minAvailable: 1}, status: {desiredHealthy: 1}}`, 0,
			`{selector: {matchLabels: {label.example.com.spillway.io/role: web}}, minAvailable: 1}`},
		"of all pods": {`{spec: {selector: {}, minAvailable: 1}, status: {desiredHealthy: 1}}`, 0, `{selector: {}, minAvailable: 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			local := budgetOf(t, test.local)
			before := local.DeepCopy()
			got, refusal := toRemote(local, fieldtest.Mapped, fieldtest.Generous, test.healthy)
			if refusal != nil {
				t.Fatal(refusal)
			}
			want := budgetOf(t, `{spec: `+test.want+`}`)
			want.ObjectMeta = metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf("app;")}
			want.Labels["app"] = "web"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Spec.Selector.MatchLabels != nil {
				got.Spec.Selector.MatchLabels["app"] = "other"
			}
			if diff := cmp.Diff(before, local); diff != "" {
				t.Errorf("the local budget was changed:\n%s", diff)
			}
		})
	}
}

func TestPodDisruptionBudgetRefusals(t *testing.T) {
	const failed = `{status: {conditions: [{type: DisruptionAllowed, status: "False", reason: SyncFailed, message: found no controllers}]}}`
	for name, test := range map[string]struct{ local, reason, mention string }{
		"kept at home":           {`{metadata: {annotations: {spillway.io/sync: never}}}`, field.ReasonSyncNever, "spillway.io/sync=never"},
		"by a label that stays":  {`{spec: {selector: {matchLabels: {spillway.io/tier: web}}}}`, field.ReasonSelectorNotSent, "spillway.io/tier"},
		"by a label not listed":  {`{spec: {selector: {matchLabels: {example.com/tier: web}}}}`, "", ""},
		"not to be worked out":   {failed, ReasonBudgetUnknown, "see its condition DisruptionAllowed"},
		"which may be disrupted": {`{status: {conditions: [{type: DisruptionAllowed, status: "True", reason: SufficientPods}]}}`, "", ""},
	} {
		_, refusal := toRemote(budgetOf(t, test.local), fieldtest.Mapped, &field.Limits{}, 0)
		if refusal == nil {
			refusal = &field.Problem{}
		}
		if refusal.Reason != test.reason || !strings.Contains(refusal.Message, test.mention) {
			t.Errorf("%s: got %v", name, refusal)
		}
	}
}

// TestIsHealthy: a budget counts the pods that the disruption controller counts.
func TestIsHealthy(t *testing.T) {
	const ready, unready = `status: {conditions: [{type: Ready, status: "True"}]}`, `status: {conditions: [{type: Ready, status: "False"}, {type: Other, status: "True"}]}`
	const web, going = `metadata: {labels: {app: web}}, `, `metadata: {labels: {app: web}, deletionTimestamp: "2026-01-01T00:00:00Z"}, `
	for name, test := range map[string]struct {
		selector, pod string
		want          bool
	}{
		"a pod that is ready":     {`{matchLabels: {app: web}}`, `{` + web + ready + `}`, true},
		"one that is not":         {`{matchLabels: {app: web}}`, `{` + web + unready + `}`, false},
		"one that has not begun":  {`{matchLabels: {app: web}}`, `{metadata: {labels: {app: web}}}`, false},
		"one that is on its way":  {`{matchLabels: {app: web}}`, `{` + going + ready + `}`, false},
		"one of another app":      {`{matchLabels: {app: db}}`, `{` + web + ready + `}`, false},
		"every pod":               {`{}`, `{` + ready + `}`, true},
		"no pod":                  {`null`, `{` + web + ready + `}`, false},
		"by an invalid selector":  {`{matchExpressions: [{key: app, operator: Other}]}`, `{` + web + ready + `}`, false},
		"one without these words": {`{matchExpressions: [{key: app, operator: NotIn, values: [db]}]}`, `{` + web + ready + `}`, true},
	} {
		budget := budgetOf(t, `{spec: {selector: `+test.selector+`}}`)
		if got := IsHealthy(budget)(fieldtest.Parse[corev1.Pod](t, test.pod)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestMergePodDisruptionBudget: the merge corrects what is sent, and keeps what the provider added.
func TestMergePodDisruptionBudget(t *testing.T) {
	desired, refusal := toRemote(budgetOf(t, `{spec: {selector: {matchLabels: {app: web}}, maxUnavailable: 1}, status: {desiredHealthy: 2}}`), fieldtest.Mapped, fieldtest.Generous, 0)
	if refusal != nil {
		t.Fatal(refusal)
	}
	theirs := func(budget *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		fieldtest.Merged(t, budget, `{metadata: {resourceVersion: "9", labels: {theirs: x}}, status: {currentHealthy: 7}}`)
		return budget
	}
	want := theirs(desired.DeepCopy())
	if diff := cmp.Diff(want, merge(desired, want)); diff != "" {
		t.Errorf("it was as it should be:\n%s", diff)
	}
	drifted := want.DeepCopy()
	fieldtest.Merged(t, drifted, `{metadata: {labels: {app: x}}, spec: {selector: {matchLabels: {app: x}}, minAvailable: 0, unhealthyPodEvictionPolicy: AlwaysAllow}}`)
	if diff := cmp.Diff(want, merge(desired, drifted)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
