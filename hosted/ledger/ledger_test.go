package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/gke"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/internal/conditions"
)

const identity = "projectID: p, clusterName: c, region: r"

// refresh reads the cluster once, and enters the plan. It first converts the object to YAML and back, as
// between two processes.
func refresh(t *testing.T, h *v1alpha1.HostedCluster, upstream string, now int64) (*v1alpha1.HostedCluster, merge.Plan) {
	t.Helper()
	text, err := yaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	stored := &v1alpha1.HostedCluster{}
	if err := yaml.UnmarshalStrict(text, stored); err != nil {
		t.Fatal(err)
	}
	reading := cloud.Reading{Complete: upstream != ""}
	if err := yaml.Unmarshal([]byte("{"+identity+", "+upstream+"}"), &reading.Config); err != nil {
		t.Fatal(err)
	}
	in, err := Input(stored, gke.Table, reading, time.Unix(now, 0))
	if err != nil {
		t.Fatal(err)
	}
	plan := merge.Merge(in)
	if err := Enter(stored, plan, nil, reading); err != nil {
		t.Fatal(err)
	}
	return stored, plan
}

// stored returns the status as the API server would store it.
func stored(t *testing.T, h *v1alpha1.HostedCluster) string {
	t.Helper()
	text, err := yaml.Marshal(h.Status)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func cluster(t *testing.T, config, more string) *v1alpha1.HostedCluster {
	t.Helper()
	h := &v1alpha1.HostedCluster{}
	if err := yaml.UnmarshalStrict([]byte("gkeConfig: {"+identity+", "+config+"}\n"+more), &h.Spec); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestStory has a change in the console that holds, a conflict, and its resolution. Reading the same again in
// between changes nothing.
func TestStory(t *testing.T) {
	h := cluster(t, `loggingService: none, labels: {team: a}`, "")
	steps := []struct {
		what, upstream, reason, message string
		change                          func()
		conflicts, decisions, writes    int
	}{
		{what: "as it should be", upstream: `loggingService: none, labels: {team: a, x: "y"}`, reason: "Agreed"},
		{what: "half a read", reason: "Agreed"},
		{
			what: "the console", upstream: `loggingService: none, labels: {team: b, x: "y"}`, reason: "Superseded", decisions: 1,
			message: `labels["team"] is Superseded: the spec has "a", the cloud "b"`,
		},
		{
			what: "both", upstream: `loggingService: all, labels: {team: b}`, reason: "Conflict", conflicts: 1, decisions: 1,
			change: func() { h.Spec.GKEConfig.LoggingService = new("some") }, message: `loggingService is Conflict: the spec has "some", the cloud "all"`,
		},
		{
			what: "a resolution", upstream: `loggingService: all, labels: {team: b}`, reason: "Pushed", conflicts: 1, decisions: 2, writes: 1,
			change: func() {
				c := h.Status.Conflicts[0]
				h.Spec.Sync.Resolutions = []v1alpha1.Resolution{{Path: c.Path, Take: v1alpha1.SideSpec, UpstreamHash: c.UpstreamHash}}
			},
		},
		{what: "it is there", upstream: `loggingService: some, labels: {team: b}`, reason: "Superseded", decisions: 2},
		{
			what: "the console again, as before", upstream: `loggingService: all, labels: {team: b}`, reason: "Superseded", decisions: 3,
			message: `loggingService is Superseded: the spec has "some", the cloud "all"`,
		},
	}
	for i, step := range steps {
		if step.change != nil {
			step.change()
		}
		var plan merge.Plan
		h, plan = refresh(t, h, step.upstream, int64(1000*i))
		c := h.Status.Conditions[0]
		if c.Reason != step.reason || !strings.Contains(c.Message, step.message) {
			t.Errorf("%s: got %s: %s, want %s: %s", step.what, c.Reason, c.Message, step.reason, step.message)
		}
		if got := fmt.Sprint(len(h.Status.Conflicts), len(h.Status.Decisions), len(plan.Writes)); got != fmt.Sprint(step.conflicts, step.decisions, step.writes) {
			t.Errorf("%s: %s conflicts, decisions and requests, want %d, %d and %d", step.what, got, step.conflicts, step.decisions, step.writes)
		}
		// The next step reads what was sent.
		End(h)
		if len(plan.Writes) > 0 {
			Begin(h, plan.Writes[0], "token", time.Unix(0, 0))
			continue
		}
		again, _ := refresh(t, h, step.upstream, int64(1000*i+500))
		if diff := cmp.Diff(stored(t, h), stored(t, again)); diff != "" {
			t.Errorf("%s: a second read writes:\n%s", step.what, diff)
		}
	}
}

func TestPolicies(t *testing.T) {
	tests := map[string]struct {
		spec string
		want merge.Policies
	}{
		"the defaults": {"", merge.Policies{Policy: merge.Policy{External: merge.Upstream}}},
		"all of them": {
			"sync: {external: Report, conflict: PreferSpec, writeBack: Always, resolutions: [{path: a, take: Upstream, upstreamHash: h}]}\nnodePoolPolicy: Exclusive",
			merge.Policies{
				Policy: merge.Policy{Conflict: merge.Spec, WriteBack: true}, Exclusive: true,
				Resolutions: []merge.Resolution{{Path: "a", Take: merge.Upstream, Hash: "h"}},
			},
		},
		"an override of a part": {
			"sync: {external: PreferSpec, overrides: [{path: tags, conflict: PreferUpstream}]}",
			merge.Policies{
				Policy:    merge.Policy{External: merge.Spec},
				Overrides: map[string]merge.Policy{"tags": {External: merge.Spec, Conflict: merge.Upstream}},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := policies(cluster(t, "", test.spec).Spec)
			if len(got.Overrides) == 0 {
				got.Overrides = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestDecisionsAreBounded: a value of the spec that is overwritten again and again has one decision, which has the
// latest value. If there are too many, a field loses its oldest one only if no other field has more.
func TestDecisionsAreBounded(t *testing.T) {
	h := cluster(t, `loggingService: none`, "")
	h, _ = refresh(t, h, `loggingService: none`, 0)
	for i := range 40 {
		h, _ = refresh(t, h, fmt.Sprintf(`loggingService: "v%d"`, i), int64(i))
	}
	if d := h.Status.Decisions; len(d) != 1 || d[0].Kept != `"v39"` || d[0].Lost != `"none"` || d[0].Time.Unix() != 0 {
		t.Errorf("decisions %+v", d)
	}
	if got := conditions.Reason(h.Status.Conditions, v1alpha1.HostedInSync); got != v1alpha1.ReasonSuperseded {
		t.Errorf("InSync is %s", got)
	}
	for i := range 2 * maxDecisions {
		Note(h, v1alpha1.Decision{Path: "labels", Lost: fmt.Sprint(i)})
	}
	if d := h.Status.Decisions; len(d) != maxDecisions || d[0].Path != "loggingService" || d[1].Lost != fmt.Sprint(maxDecisions+1) {
		t.Errorf("%d decisions: %+v", len(d), d)
	}
}

// TestOperations: one operation is in flight, and those that were refused stay until the plan does not have them
// any more.
func TestOperations(t *testing.T) {
	write := func(call, value string) merge.Write {
		return merge.Write{Call: call, Item: "p", Sent: map[string]merge.Text{"a": merge.Text(value)}}
	}
	now := time.Unix(1_800_000_000, 0)
	h := &v1alpha1.HostedCluster{}
	check := func(what, flies, refused string) {
		t.Helper()
		got := ""
		for _, r := range Refusals(h) {
			got += r.Call + string(r.Sent["a"]) + " "
		}
		if op := h.Status.InFlight(); op == nil && flies != "" || op != nil && op.Call != flies || got != refused {
			t.Errorf("%s: %+v", what, h.Status.Operations)
		}
	}
	Begin(h, write("size", "1"), "t", now)
	check("it is sent", "size", "")
	Refuse(h.Status.InFlight(), v1alpha1.ReasonRightMissing, "no right", now, time.Minute)
	check("it is refused", "", "size1 ")
	Begin(h, write("labels", "2"), "t", now)
	check("another one", "labels", "size1 ")
	End(h)
	check("its result is read", "", "size1 ")
	Begin(h, write("size", "1"), "t", now.Add(time.Hour))
	check("the first one again", "size", "")
	if op := h.Status.InFlight(); op.Reason != v1alpha1.ReasonRightMissing || op.Pause.Duration != time.Minute || op.RetryAt != nil {
		t.Errorf("it does not know why it was refused: %+v", op)
	}
	Refuse(h.Status.InFlight(), "", "no quota", now, time.Hour)
	Drop(h, merge.Plan{Writes: []merge.Write{write("size", "1")}})
	check("it is still wanted", "", "size1 ")
	Drop(h, merge.Plan{}, "p")
	check("its pool is being changed", "", "size1 ")
	Drop(h, merge.Plan{Writes: []merge.Write{write("size", "3")}})
	check("another value is wanted", "", "")
	if h.Status.Operations != nil {
		t.Error("an empty list is not nothing")
	}
}
