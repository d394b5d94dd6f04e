package preview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

func TestAdopt(t *testing.T) {
	h, plan := differingObject(t)
	tests := map[string]struct {
		choice Choice
		want   []string
		// unproven is what the result would still do.
		unproven string
		err      string
	}{
		"what has drifted": {
			Choice{Drifted: true}, []string{
				`nodePools["p"].maxPods: 20 > 30`, `nodePools["q"]: "exists" > "absent"`, `nodePools["r"]: "absent" > "exists"`, `tags["b"]: "1" > "2"`, `tags["d"]: "1" > "2"`,
			}, `tags["a"] is in conflict`, "",
		},
		"a conflict by its name": {Choice{Fields: []string{`tags["a"]`}}, []string{`tags["a"]: "1" > "2"`}, "", ""},
		"all tags":               {Choice{Fields: []string{"tags"}}, []string{`tags["a"]: "1" > "2"`, `tags["b"]: "1" > "2"`, `tags["d"]: "1" > "2"`, `tags["e"]: null > "2"`}, "", ""},
		"a pool": {
			Choice{Fields: []string{`nodePools["p"]`}}, []string{`nodePools["p"].maxPods: 20 > 30`, `nodePools["p"].mode: null > "User"`}, `tags["a"] is in conflict`, "",
		},
		"it is the same": {Choice{Fields: []string{"resourceGroup"}}, nil, `tags["a"] is in conflict`, ""},
		"everything": {
			Choice{All: true, Drifted: true}, []string{
				`kubernetesVersion: null > "1.33.2"`, `nodePools["p"].maxPods: 20 > 30`, `nodePools["p"].mode: null > "User"`, `nodePools["q"]: "exists" > "absent"`,
				`nodePools["r"]: "absent" > "exists"`, `tags["a"]: "1" > "2"`, `tags["b"]: "1" > "2"`, `tags["d"]: "1" > "2"`, `tags["e"]: null > "2"`,
			}, "", "",
		},
		"no such field": {Choice{Fields: []string{"color"}}, nil, "", "there is no field color"},
		"nobody has it": {Choice{Fields: []string{"subnet"}}, nil, "", "neither the spec nor the cloud has subnet"},
		"not a path":    {Choice{Fields: []string{"tags[a]"}}, nil, "", "there is no field tags[a]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			paths, err := test.choice.Paths(h, plan)
			if err != nil || test.err != "" {
				if err == nil || test.err == "" || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			adopted, err := Adopt(h, h.Spec, paths)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range adopted.Changes {
				got = append(got, fmt.Sprintf("%s: %s > %s", c.Path, c.From, c.To))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			after, err := Of(h, adopted.Spec, time.Unix(1767225700, 0))
			if err != nil {
				t.Fatal(err)
			}
			why := strings.Join(Unproven(after), "; ")
			if (why == "") != (test.unproven == "") || !strings.Contains(why, test.unproven) {
				t.Errorf("the result: %s; want %s", why, test.unproven)
			}
		})
	}
}

// TestAdoptKeepsTheRest: what was not asked for stays as it is written, also if the cloud writes it otherwise.
func TestAdoptKeepsTheRest(t *testing.T) {
	h := object(t, spec(`kubernetesVersion: v1.33, authorizedIpRanges: [10.0.0.1/8], tags: {a: "1"}`),
		`{upstreamSpec: {aksConfig: {`+identity+`kubernetesVersion: 1.33.2, authorizedIpRanges: [10.0.0.0/8], tags: {a: "2"}}}}`)
	adopted, err := Adopt(h, h.Spec, []string{`tags["a"]`})
	if err != nil {
		t.Fatal(err)
	}
	var want v1alpha1.HostedClusterSpec
	if err := yaml.Unmarshal([]byte(spec(`kubernetesVersion: v1.33, authorizedIpRanges: [10.0.0.1/8], tags: {a: "2"}`)), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, adopted.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
