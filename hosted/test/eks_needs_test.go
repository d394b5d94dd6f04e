package hosted

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/eks"
	"github.com/spillway-io/spillway/hosted/merge"
)

// TestGroupNeeds has what the spec of a group leaves out, and EKS needs.
func TestGroupNeeds(t *testing.T) {
	tests := map[string]struct{ spec, refused, field, want string }{
		"no role":                       {spec: "{nodegroupName: b, subnets: [s1]}", refused: "nodeRole"},
		"no subnets":                    {spec: `{nodegroupName: b, nodeRole: "arn:r"}`, field: "subnets", want: "[s1,s2]"},
		"a larger least size":           {spec: "{nodegroupName: a, minSize: 3}", field: "desiredSize", want: "3"},
		"a smaller greatest size":       {spec: "{nodegroupName: a, minSize: 1, maxSize: 1}", field: "desiredSize", want: "1"},
		"both sizes, as they are given": {spec: "{nodegroupName: a, minSize: 3, desiredSize: 1}", refused: "InvalidParameterException"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client := newEKS(t)
			cluster.cluster["resourcesVpcConfig"].(object)["subnetIds"] = []any{"s1", "s2"}
			before := mustRead(t, client)
			in := merge.Input{Table: eks.Table, Spec: parse(t, "nodeGroups: ["+test.spec+"]"), Upstream: before.Config, Published: before.Config, Complete: true}
			_, err := client.Send(t.Context(), before, merge.Merge(in).Writes[0], "token")
			if test.refused != "" {
				if !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("got %v, want that it is refused because of %s", err, test.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			groups := mustRead(t, client).Config["nodeGroups"].([]any)
			if diff := cmp.Diff(parse(t, "value: "+test.want)["value"], groups[len(groups)-1].(object)[test.field]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSizeOfAnAutoscaler: an autoscaler makes a group larger after it was read. A change of the bounds must not end the new
// nodes.
func TestSizeOfAnAutoscaler(t *testing.T) {
	for bounds, want := range map[string]float64{"maxSize: 5": 3, "minSize: 0": 3, "minSize: 2, maxSize: 4": 3, "maxSize: 5, desiredSize: 1": 1} {
		cluster, client := newEKS(t)
		before := mustRead(t, client)
		in := merge.Input{Table: eks.Table, Spec: parse(t, "nodeGroups: [{nodegroupName: a, "+bounds+"}]"), Upstream: before.Config, Published: before.Config, Complete: true}
		cluster.groups["a"]["scalingConfig"].(object)["desiredSize"] = 3.0
		if _, err := client.Send(t.Context(), before, merge.Merge(in).Writes[0], "token"); err != nil {
			t.Fatalf("%s: %v", bounds, err)
		}
		if got := cluster.groups["a"]["scalingConfig"].(object)["desiredSize"]; got != want {
			t.Errorf("%s: the desired size is %v, want %v", bounds, got, want)
		}
	}
}

// TestPrivateEndpoint: for a cluster without a public endpoint, EKS returns no addresses. The spec must not have
// such an empty list, because it would mean all addresses.
func TestPrivateEndpoint(t *testing.T) {
	cluster, client := newEKS(t)
	vpc := cluster.cluster["resourcesVpcConfig"].(object)
	vpc["endpointPublicAccess"], vpc["publicAccessCidrs"] = false, []any{}
	if sources, set := mustRead(t, client).Config["publicAccessSources"]; set {
		t.Errorf("got %v", sources)
	}
}
