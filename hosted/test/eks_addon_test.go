package hosted

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// TestAddonRole: the role of the add-on is changed and removed. If the operator crashes meanwhile, the request is carried
// out once.
func TestAddonRole(t *testing.T) {
	const update = "POST /clusters/shop/addons/aws-ebs-csi-driver/update"
	tests := map[string]struct {
		spec, change string
		role         any
	}{
		"another role":       {`ebsCSIDriverRole: "arn:other"`, update, "arn:other"},
		"none":               {`{ebsCSIDriver: true, ebsCSIDriverRole: ""}`, update, nil},
		"nothing to change":  {`{ebsCSIDriver: true, ebsCSIDriverRole: "arn:ebs"}`, "", "arn:ebs"},
		"without the add-on": {"ebsCSIDriver: false", "DELETE /clusters/shop/addons/aws-ebs-csi-driver", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client := newEKS(t)
			cluster.addons["aws-ebs-csi-driver"] = true
			cluster.addonHas["serviceAccountRoleArn"] = "arn:ebs"
			reading, writes := writesFor(t, client, test.spec)
			for range 2 {
				for _, write := range writes {
					if _, err := client.Send(t.Context(), reading, write, "token"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if role := mustRead(t, client).Config["ebsCSIDriverRole"]; role != test.role {
				t.Errorf("the role is %v, want %v", role, test.role)
			}
			if got := strings.Join(cluster.Changes(), ", "); got != test.change {
				t.Errorf("requests that change something: %s, want %s", got, test.change)
			}
		})
	}
}

// TestRoleWithoutAddon: a role needs the add-on, and the error names the field.
func TestRoleWithoutAddon(t *testing.T) {
	cluster, client := newEKS(t)
	_, err := push(t, client, `ebsCSIDriverRole: "arn:ebs"`, "token")
	if !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), "eksConfig.ebsCSIDriver") || len(cluster.Changes()) > 0 {
		t.Errorf("got %v and %v, want that it is refused", err, cluster.Changes())
	}
}

// TestUpdatesOfAddon: updates of the add-on are in the list of operations, also those of others, with the role that they
// set. One that fails says why.
func TestUpdatesOfAddon(t *testing.T) {
	cluster, client := newEKS(t)
	cluster.addons["aws-ebs-csi-driver"] = true
	if _, err := client.API.UpdateAddon(t.Context(), &awseks.UpdateAddonInput{
		ClusterName: aws.String("shop"), AddonName: aws.String("aws-ebs-csi-driver"), ServiceAccountRoleArn: aws.String("arn:theirs"),
	}); err != nil {
		t.Fatal(err)
	}
	cluster.Slow()
	ours, err := push(t, client, `ebsCSIDriverRole: "arn:ebs"`, "token")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := client.OperationIDs(t.Context(), "")
	if err != nil || len(ids) != 2 || !slices.Contains(ids, ours) {
		t.Fatalf("got %v, %v, want %s and another", ids, err, ours)
	}
	theirs, err := client.Operation(t.Context(), "", ids[0])
	if err != nil || theirs.Values["ebsCSIDriverRole"] != merge.Text(`"arn:theirs"`) || !theirs.Done {
		t.Errorf("theirs is %+v, %v", theirs, err)
	}
	if operation, err := client.Operation(t.Context(), "", ours); err != nil || operation.Done {
		t.Errorf("in progress: %+v, %v", operation, err)
	}
	cluster.Finish("no role")
	if operation, err := client.Operation(t.Context(), "", ours); err != nil || !operation.Failed || !strings.Contains(operation.Message, "no role") || operation.ID != ours {
		t.Errorf("failed: %+v, %v", operation, err)
	}
}
