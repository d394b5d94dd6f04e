package hosted

import (
	"errors"
	"slices"
	"testing"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/eks"
	"github.com/spillway-io/spillway/hosted/merge"
)

// TestForeignOperations: somebody else changes a value between the read and the request, and EKS does not
// refuse the request. The overwritten value can be reported.
func TestForeignOperations(t *testing.T) {
	cluster, client := newEKS(t)
	before := mustRead(t, client)
	write := func(spec string) merge.Write {
		return merge.Merge(merge.Input{
			Table: eks.Table, Spec: parse(t, spec), Upstream: before.Config, Published: before.Config, Complete: true,
		}).Writes[0]
	}
	foreign, err := client.Send(t.Context(), before, write("publicAccessSources: [198.51.100.0/24]"), "console")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := client.Send(t.Context(), before, write("publicAccessSources: [192.0.2.0/24]"), "ours")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := client.OperationIDs(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids, []string{foreign, ours}) {
		t.Errorf("got %v, want %s and %s", ids, foreign, ours)
	}
	operation, err := client.Operation(t.Context(), "", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if operation.Values["publicAccessSources"] != `["198.51.100.0/24"]` || !operation.Done {
		t.Errorf("got %+v, want the other's update with its value", operation)
	}
	labelled, err := client.Send(t.Context(), before, write("nodeGroups: [{nodegroupName: a, labels: {tier: db, zone: null}}]"), "labels")
	if err != nil {
		t.Fatal(err)
	}
	operation, err = client.Operation(t.Context(), `nodeGroups["a"]`, labelled)
	if err != nil || operation.Values[`nodeGroups["a"].labels["tier"]`] != `"db"` || operation.Values[`nodeGroups["a"].labels["zone"]`] != merge.Null {
		t.Errorf("got %+v, %v, want each label", operation, err)
	}
	cluster.Busy(true)
	if _, err := client.Send(t.Context(), before, write("publicAccess: false"), "busy"); !errors.Is(err, cloud.ErrBusy) {
		t.Errorf("got %v, want that it is busy", err)
	}
}

// TestCreatedAgain: a group is being deleted, and somebody creates it again before that is read. The deletion is done.
func TestCreatedAgain(t *testing.T) {
	const item = `nodeGroups["a"]`
	tests := map[string]struct {
		status, arn string
		// old is the name of a deletion that an older version has stored.
		old    string
		want   bool
		failed bool
	}{
		"it is being deleted":          {status: "DELETING"},
		"EKS does not show it yet":     {status: "ACTIVE"},
		"it cannot be deleted":         {status: "DELETE_FAILED", want: true, failed: true},
		"it is being created again":    {status: "CREATING", arn: "arn:group/a/2", want: true},
		"it was created again":         {status: "ACTIVE", arn: "arn:group/a/2", want: true},
		"the other cannot be deleted":  {status: "DELETE_FAILED", arn: "arn:group/a/2", want: true},
		"an older name, in deletion":   {status: "DELETING", old: "launch-template/"},
		"an older name, created again": {status: "ACTIVE", old: "launch-template/", want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client := newEKS(t)
			cluster.Slow()
			reading := mustRead(t, client)
			plan := merge.Merge(merge.Input{
				Table: eks.Table, Spec: parse(t, "nodeGroups: []"), Upstream: reading.Config, Published: reading.Config, Complete: true,
				Policies: merge.Policies{Exclusive: true},
			})
			id, err := client.Send(t.Context(), reading, plan.Writes[0], "token")
			if err != nil {
				t.Fatal(err)
			}
			cluster.EditGroup("a", func(group object) {
				group["status"] = test.status
				if test.arn != "" {
					group["nodegroupArn"] = test.arn
				}
			})
			if test.old != "" {
				id = test.old
			}
			got, err := client.Operation(t.Context(), item, id)
			if err != nil || got.Done != test.want || got.Failed != test.failed || got.ID != id {
				t.Errorf("got %+v, %v, want that it is done: %v, failed: %v", got, err, test.want, test.failed)
			}
		})
	}
}
