package hosted

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/container/v1"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/gke"
)

// TestOthersInGKE: a request does not overwrite another user's change since the read, if GKE has a version
// for it. Google's own library plays the other user.
func TestOthersInGKE(t *testing.T) {
	const name = "projects/p/locations/europe-west3/clusters/shop"
	label := func(c *container.ProjectsLocationsClustersService) error {
		cluster, err := c.Get(name).Do()
		if err != nil {
			return err
		}
		cluster.ResourceLabels["owner"] = "console"
		_, err = c.SetResourceLabels(name, &container.SetLabelsRequest{LabelFingerprint: cluster.LabelFingerprint, ResourceLabels: cluster.ResourceLabels}).Do()
		return err
	}
	window := func(c *container.ProjectsLocationsClustersService) error {
		cluster, err := c.Get(name).Do()
		if err != nil {
			return err
		}
		cluster.MaintenancePolicy.Window.DailyMaintenanceWindow.StartTime = "05:00"
		_, err = c.SetMaintenancePolicy(name, &container.SetMaintenancePolicyRequest{MaintenancePolicy: cluster.MaintenancePolicy}).Do()
		return err
	}
	logging := func(c *container.ProjectsLocationsClustersService) error {
		_, err := c.Update(name, &container.UpdateClusterRequest{Update: &container.ClusterUpdate{DesiredLoggingService: "none"}}).Do()
		return err
	}
	version := func(c *container.ProjectsLocationsClustersService) error {
		_, err := c.NodePools.Update(name+"/nodePools/a", &container.UpdateNodePoolRequest{NodeVersion: "1.33"}).Do()
		return err
	}
	tests := map[string]struct {
		spec  string
		other func(*container.ProjectsLocationsClustersService) error
	}{
		"labels":             {`labels: {cost: "8"}`, label},
		"maintenance":        {`maintenanceWindow: "04:30"`, window},
		"the version":        {`kubernetesVersion: 1.33.2`, label},
		"networks":           {`masterAuthorizedNetworks: {enabled: false}`, logging},
		"version of a pool":  {`nodePools: [{name: a, version: 1.34.1}]`, version},
		"labels of a pool":   {`nodePools: [{name: a, config: {labels: {tier: db}}}]`, version},
		"scaling of a pool":  {`nodePools: [{name: a, autoscaling: {enabled: true}}]`, version},
		"logging, by chance": {`loggingService: none`, logging},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client, console := newGKE(t, clusterOfGKE)
			before := readOfGKE(t, client)
			write := mergeGKE(t, before, test.spec).Writes[0]
			once := false
			cluster.Before = func(r *http.Request) {
				// The change comes between the read and the request.
				if r.Method == http.MethodGet || once {
					return
				}
				once = true
				if err := test.other(console); err != nil {
					t.Errorf("the other's request: %v", err)
				}
			}
			if _, err := client.Send(t.Context(), before, write, ""); !errors.Is(err, cloud.ErrBusy) {
				t.Errorf("got %v, want that it has changed", err)
			}
			if changes := cluster.Changes(); len(changes) != 1 {
				t.Errorf("changes: %v, want the other's only", changes)
			}
			// A version from one read with values from another is not sent at all.
			cluster.Before = func(r *http.Request) {
				if r.Method != http.MethodGet {
					t.Errorf("%s %s is sent", r.Method, r.URL)
				}
			}
			if _, err := client.Send(t.Context(), readOfGKE(t, client), write, ""); !errors.Is(err, cloud.ErrBusy) {
				t.Errorf("with a newer reading: got %v, want that it has changed", err)
			}
			write.Version = ""
			if _, err := client.Send(t.Context(), before, write, ""); !errors.Is(err, cloud.ErrNoVersion) {
				t.Errorf("got %v, want that there is no version", err)
			}
		})
	}
}

// TestForeignOperationsInGKE: without a version, GKE does not refuse a request, but lists the other user's
// operation.
func TestForeignOperationsInGKE(t *testing.T) {
	_, client, console := newGKE(t, clusterOfGKE)
	before := readOfGKE(t, client)
	foreign, err := console.NodePools.SetSize("projects/p/locations/europe-west3/clusters/shop/nodePools/a", &container.SetNodePoolSizeRequest{NodeCount: 9}).Do()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := client.Send(t.Context(), before, mergeGKE(t, before, "nodePools: [{name: a, initialNodeCount: 5}]").Writes[0], "")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := client.OperationIDs(t.Context(), `nodePools["a"]`)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids, []string{foreign.Name, ours}) {
		t.Errorf("got %v, want %s and %s", ids, foreign.Name, ours)
	}
	operation, err := client.Operation(t.Context(), `nodePools["a"]`, foreign.Name)
	if err != nil {
		t.Fatal(err)
	}
	if value := operation.Values[`nodePools["a"].initialNodeCount`]; len(operation.Values) != 1 || !strings.Contains(string(value), "GKE does not report") {
		t.Errorf("it has set %v, want the size, which GKE does not report", operation.Values)
	}
}

func TestRefusedByGKE(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   error
	}{
		"an unknown token":    {401, `{"error": {"code": 401, "status": "UNAUTHENTICATED"}}`, cloud.ErrCredentials},
		"a right that lacks":  {403, `{"error": {"code": 403, "status": "PERMISSION_DENIED"}}`, cloud.ErrForbidden},
		"too many requests":   {429, `{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}`, cloud.ErrThrottled},
		"a bad request":       {400, `{"error": {"code": 400, "status": "INVALID_ARGUMENT"}}`, cloud.ErrRefused},
		"another operation":   {400, `{"error": {"code": 400, "details": [{"reason": "CLUSTER_ALREADY_HAS_OPERATION"}]}}`, cloud.ErrBusy},
		"an upgrade":          {400, `{"error": {"code": 400, "message": "Operation operation-1 is currently upgrading cluster c. Please wait and try again once it is done."}}`, cloud.ErrBusy},
		"a repair":            {400, `{"error": {"code": 400, "message": "Cluster is currently being created, deleted, updated or repaired and cannot be updated."}}`, cloud.ErrBusy},
		"an outdated version": {409, `{"error": {"code": 409, "status": "ABORTED"}}`, cloud.ErrBusy},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				if _, err := w.Write([]byte(test.body)); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			client := &gke.Client{HTTP: server.Client(), Endpoint: server.URL, Cluster: gke.Cluster{Project: "p", Location: "l", Name: "c"}}
			if _, err := client.Read(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestRecurringInGKE: a window that the spec cannot express is not replaced by one that it can.
func TestRecurringInGKE(t *testing.T) {
	cluster, client, _ := newGKE(t, strings.Replace(clusterOfGKE,
		`dailyMaintenanceWindow: {startTime: "03:00", duration: PT4H0M0S}`, `recurringWindow: {recurrence: FREQ=WEEKLY}`, 1))
	before := readOfGKE(t, client)
	_, err := client.Send(t.Context(), before, mergeGKE(t, before, `maintenanceWindow: "04:30"`).Writes[0], "")
	if !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), "gkeConfig.maintenanceWindow") {
		t.Errorf("got %v, want that it is refused, with the field", err)
	}
	if changes := cluster.Changes(); len(changes) > 0 {
		t.Errorf("changes: %v", changes)
	}
}

func TestLifeOfGKE(t *testing.T) {
	cluster, client, console := newGKE(t, "")
	if _, err := client.Read(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Fatalf("got %v, want that there is none", err)
	}
	for field, spec := range map[string]string{
		"gkeConfig.nodePools: a new": `{}`, "autopilotConfig": `{autopilotConfig: {enabled: true}, nodePools: [{name: a}]}`,
	} {
		if err := client.Create(t.Context(), parse(t, spec), ""); !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want that %s is refused", err, field)
		}
	}
	cluster.Hold(true)
	for range 2 {
		if err := client.Create(t.Context(), parse(t, readGKE), ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := cluster.Changes(); !slices.Equal(got, []string{"create"}) {
		t.Errorf("requests that change something: %v, want one", got)
	}
	reading := readOfGKE(t, client)
	want := parse(t, readGKE)
	if diff := cmp.Diff(full(want), full(canonical(t, reading.Config))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := console.SetNetworkPolicy("projects/p/locations/europe-west3/clusters/shop", &container.SetNetworkPolicyRequest{}).Do(); err == nil {
		t.Error("GKE takes a request while another operation runs")
	}
	write := mergeGKE(t, reading, "networkPolicyEnabled: true").Writes[0]
	if _, err := client.Send(t.Context(), reading, write, ""); reading.Busy == "" || !errors.Is(err, cloud.ErrBusy) {
		t.Errorf("got %q and %v, want that it is being made", reading.Busy, err)
	}
	cluster.Hold(false)
	deleteTwice(t, client, cluster)
}

// deleteTwice deletes twice, as after a crash in between.
func deleteTwice(t *testing.T, client cloud.Client, cluster interface{ Hold(bool) }) {
	t.Helper()
	cluster.Hold(true)
	for range 2 {
		reading, err := client.Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Delete(t.Context(), reading, "token"); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Hold(false)
	if _, err := client.Read(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that it has gone", err)
	}
	if err := client.Delete(t.Context(), cloud.Reading{}, "token"); err != nil {
		t.Errorf("what has gone: %v", err)
	}
}
