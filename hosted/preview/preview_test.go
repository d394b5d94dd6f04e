package preview

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// object returns a HostedCluster in AKS of which the spec, the status and the cloud have these values.
func object(t *testing.T, spec, status string) *v1alpha1.HostedCluster {
	t.Helper()
	h := &v1alpha1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 1}}
	for text, into := range map[string]any{spec: &h.Spec, status: &h.Status} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	h.Status.ObservedGeneration = 1
	return h
}

// told is what a plan says, in a few lines.
func told(p *Plan) []string {
	var lines []string
	for _, f := range p.Fields {
		if f.State != "Agreed" {
			lines = append(lines, fmt.Sprintf("%s %s: %s, %s, %s", f.State, f.Path, f.Base, f.Spec, f.Cloud))
		}
	}
	for _, r := range p.Requests {
		line := strings.TrimSpace(fmt.Sprintf("%s %s", r.Call, r.Item))
		for _, c := range r.Changes {
			line += fmt.Sprintf(" %s=%s>%s", c.Path, c.From, c.To)
		}
		lines = append(lines, fmt.Sprintf("%s; %s%s%s", line, r.Nodes, r.Waits, r.Refused))
	}
	for _, c := range p.SpecWrites {
		lines = append(lines, fmt.Sprintf("spec %s=%s>%s", c.Path, c.From, c.To))
	}
	for _, l := range p.Lost {
		lines = append(lines, fmt.Sprintf("%s wins %s=%s, %s is lost", l.Take, l.Path, l.Kept, l.Lost))
	}
	for _, r := range p.InProgress {
		lines = append(lines, "in progress: "+r.Call)
	}
	if p.Blocked != "" {
		lines = append(lines, "blocked: "+p.Blocked)
	}
	return append(lines, fmt.Sprintf("%v", p.Changes))
}

const identity = "resourceGroup: rg, clusterName: shop, resourceLocation: west, "

func spec(fields string) string {
	return "{credentials: {secretRef: {name: a}}, aksConfig: {" + identity + fields + "}}"
}

func TestOf(t *testing.T) {
	const (
		agreed = `base: [{path: 'tags["a"]', spec: '"1"', upstream: '"1"'}], `
		cloud  = `upstreamSpec: {aksConfig: {` + identity + `tags: {a: "1"}, nodePools: [{name: p, count: 2}]}}`
		op     = `, operations: [{requestToken: x, call: PUT managedClusters, startedAt: "2026-01-01T00:00:00Z", sent: [{path: 'tags["a"]', value: '"2"'}]`
	)
	tests := map[string]struct {
		spec, status string
		want         []string
	}{
		"nothing": {spec(`tags: {a: "1"}`), "{" + agreed + cloud + "}", []string{"false"}},
		"a changed tag": {spec(`tags: {a: "2"}`), "{" + agreed + cloud + "}", []string{
			`Pushed tags["a"]: "1", "2", "1"`, `PUT managedClusters tags["a"]="1">"2"; `, "true",
		}},
		"a conflict": {
			spec(`tags: {a: "2"}`), `{base: [{path: 'tags["a"]', spec: '"0"', upstream: '"0"'}], ` + cloud + "}",
			[]string{`Conflict tags["a"]: "0", "2", "1"`, "false"},
		},
		"a conflict that the spec wins": {
			"{sync: {conflict: PreferSpec}, " + spec(`tags: {a: "2"}`)[1:], `{base: [{path: 'tags["a"]', spec: '"0"', upstream: '"0"'}], ` + cloud + "}",
			[]string{`Pushed tags["a"]: "0", "2", "1"`, `PUT managedClusters tags["a"]="1">"2"; `, `Spec wins tags["a"]="2", "1" is lost`, "true"},
		},
		"both have agreed to differ": {
			spec(`tags: {a: "2"}`), `{base: [{path: 'tags["a"]', spec: '"2"', upstream: '"1"'}], ` + cloud + "}",
			[]string{`Superseded tags["a"]: "1", "2", "1"`, "false"},
		},
		"it is written back": {
			"{sync: {writeBack: Always}, " + spec(`tags: {a: "2"}`)[1:], `{base: [{path: 'tags["a"]', spec: '"2"', upstream: '"2"'}], ` + cloud + "}",
			[]string{`WrittenBack tags["a"]: "2", "2", "1"`, `spec tags["a"]="2">"1"`, `Upstream wins tags["a"]="1", "2" is lost`, "true"},
		},
		"the request is on its way": {spec(`tags: {a: "2"}`), "{" + agreed + cloud + op + "}]}", []string{"in progress: PUT managedClusters", "false"}},
		"and the spec has the old value again": {spec(`tags: {a: "1"}`), "{" + agreed + cloud + op + "}]}", []string{
			`Pushed tags["a"]: "1", "1", "2"`, `PUT managedClusters tags["a"]="2">"1"; `, "in progress: PUT managedClusters", "true",
		}},
		"it was refused": {spec(`tags: {a: "2"}`), "{" + agreed + cloud + op + `, message: "quota", retryAt: "2026-01-01T01:00:00Z"}]}`, []string{
			`Pushed tags["a"]: "1", "2", "1"`, `PUT managedClusters tags["a"]="1">"2"; quota`, "true",
		}},
		"a new pool waits for nothing": {spec(`nodePools: [{name: q, count: 1, vmSize: s}]`), "{" + agreed + cloud + "}", []string{
			`Pushed nodePools["q"]: , "exists", "absent"`,
			`PUT agentPools (new) nodePools["q"] nodePools["q"]="absent">"exists" nodePools["q"].count=null>1 nodePools["q"].vmSize=null>"s"; Added`, "true",
		}},
		"a size": {spec(`nodePools: [{name: p, count: 3}]`), "{" + agreed + cloud + "}", []string{
			`Pushed nodePools["p"].count: , 3, 2`, `PUT agentPools nodePools["p"] nodePools["p"].count=2>3; Resized`, "true",
		}},
		"paused": {"{paused: true, " + spec(`tags: {a: "2"}`)[1:], "{" + agreed + cloud + "}", []string{
			`Pushed tags["a"]: "1", "2", "1"`, `PUT managedClusters tags["a"]="1">"2"; `, "blocked: spec.paused is set", "false",
		}},
		"it is created": {"{deletionPolicy: Orphan, lifecycle: {mode: Create}, " + spec(``)[1:], "{}", []string{
			`Pushed clusterName: , "shop", null`, `Pushed resourceGroup: , "rg", null`, `Pushed resourceLocation: , "west", null`,
			`CreateCluster clusterName=null>"shop" resourceGroup=null>"rg" resourceLocation=null>"west"; Added`, "true",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := object(t, test.spec, test.status)
			plan, err := Of(h, h.Spec, time.Unix(1767225700, 0))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, told(plan)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if text, err := json.Marshal(plan); err != nil || !json.Valid(text) {
				t.Error(err)
			}
		})
	}
}

// TestTogether: EKS changes several groups at a time, and AKS does not.
func TestTogether(t *testing.T) {
	for cloud, test := range map[string]struct {
		spec, pools string
		want        bool
	}{
		"EKS": {"{credentials: {secretRef: {name: a}}, eksConfig: {displayName: shop, region: r, nodeGroups: [{nodegroupName: a, maxSize: 2}, {nodegroupName: b, maxSize: 2}]}}",
			"eksConfig: {displayName: shop, region: r, nodeGroups: [{nodegroupName: a}, {nodegroupName: b}]}", true},
		"AKS": {spec("nodePools: [{name: a, count: 2}, {name: b, count: 2}]"), "aksConfig: {" + identity + "nodePools: [{name: a}, {name: b}]}", false},
	} {
		h := object(t, test.spec, "{upstreamSpec: {"+test.pools+"}}")
		plan, err := Of(h, h.Spec, time.Now())
		if err != nil || len(plan.Requests) != 2 || plan.Requests[0].Together != test.want || plan.Requests[1].Together != test.want {
			t.Errorf("%s: %+v, %v", cloud, plan, err)
		}
	}
}

// TestSince: a plan says since when the cloud's value holds.
func TestSince(t *testing.T) {
	h := object(t, spec(`tags: {a: "2"}`), `{base: [{path: 'tags["a"]', spec: '"2"', upstream: '"1"'}], upstreamSpec: {aksConfig: {`+identity+`tags: {a: "1"}}},
		decisions: [{path: 'tags["a"]', take: Upstream, time: "2026-01-01T00:00:00Z"}, {path: 'tags["a"]', take: Upstream, time: "2026-01-02T00:00:00Z"}, {path: 'tags["b"]', take: Upstream, time: "2026-01-03T00:00:00Z"}]}`)
	plan, err := Of(h, h.Spec, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f := plan.Fields[len(plan.Fields)-1]
	if f.State != "Superseded" || f.Since == nil || f.Since.UTC().Format(time.DateOnly) != "2026-01-02" {
		t.Errorf("got %+v", f)
	}
}

// TestUnknown: without a reading, or for another cloud, there is no plan.
func TestUnknown(t *testing.T) {
	h := object(t, spec(""), "{}")
	if _, err := Of(h, h.Spec, time.Now()); !errors.Is(err, ErrNotRead) {
		t.Error(err)
	}
	other := v1alpha1.HostedClusterSpec{ClusterConfig: v1alpha1.ClusterConfig{GKEConfig: &v1alpha1.GKEConfig{}}}
	if _, err := Of(h, other, time.Now()); err == nil {
		t.Error("it may change its cloud")
	}
}

// TestSecret: nobody sees what may have credentials, but sees that it changes. A new group takes the right to
// create its template.
func TestSecret(t *testing.T) {
	h := object(t, `{credentials: {secretRef: {name: a}}, eksConfig: {displayName: shop, region: r, nodeGroups: [{nodegroupName: g, userData: "password"}]}}`,
		"{upstreamSpec: {eksConfig: {displayName: shop, region: r}}}")
	plan, err := Of(h, h.Spec, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(plan)
	if err != nil || strings.Contains(string(text), "password") || !strings.Contains(string(text), "not shown; SHA-256") {
		t.Errorf("got %s, %v", text, err)
	}
	if !slices.Contains(plan.Requests[0].Rights, "ec2:CreateLaunchTemplate") {
		t.Errorf("got %v", plan.Requests[0].Rights)
	}
}

// TestNotes: the plan says what it cannot know.
func TestNotes(t *testing.T) {
	h := object(t, spec(""), `{upstreamSpec: {aksConfig: {`+identity+`}}, conditions: [
		{type: Synced, status: "False", reason: RequestFailed, message: no answer, lastTransitionTime: "2026-01-01T00:00:00Z"},
		{type: Updating, status: "True", reason: ForeignUpdate, message: Upgrading, lastTransitionTime: "2026-01-01T00:00:00Z"},
		{type: Ready, status: "False", reason: Unhealthy, message: the pool p is Failed, lastTransitionTime: "2026-01-01T00:00:00Z"}]}`)
	h.Generation = 2
	h.Spec.Sync.Resolutions = []v1alpha1.Resolution{{Path: `tags["a"]`, Take: v1alpha1.SideSpec, UpstreamHash: "x"}}
	plan, err := Of(h, h.Spec, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not processed the latest spec", "since 2026-01-01 00:00:00 UTC", "Upgrading", "the pool p is Failed", `tags["a"] in spec.sync.resolutions`} {
		if !slices.ContainsFunc(plan.Notes, func(note string) bool { return strings.Contains(note, want) }) {
			t.Errorf("no note says %q: %q", want, plan.Notes)
		}
	}
	h.Status.Conditions[0].Reason = v1alpha1.ReasonDuplicate
	if plan, err = Of(h, h.Spec, time.Now()); err != nil || !strings.HasPrefix(plan.Blocked, "Duplicate") {
		t.Errorf("got %+v, %v", plan, err)
	}
}
