package operator_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/tables"
	"github.com/spillway-io/spillway/hosted/preview"
)

// planned has, for each cloud, what exists, and a candidate that takes every call of the cloud's table.
var planned = map[string]struct{ before, candidate string }{
	"eks": {
		before: `kubernetesVersion: "1.32", nodeGroups: [{nodegroupName: a}, {nodegroupName: b, nodeRole: r, subnets: [s], instanceType: m5.large},
			{nodegroupName: d, nodeRole: r, subnets: [s]}]`,
		candidate: `kubernetesVersion: "1.33", publicAccess: false, publicAccessSources: [192.0.2.0/24], tags: {owner: me}, loggingTypes: [audit], ebsCSIDriver: true, ebsCSIDriverRole: arn,
			nodeGroups: [{nodegroupName: a, maxSize: 7, labels: {l: "1"}, tags: {x: "2"}},
				{nodegroupName: b, nodeRole: r, subnets: [s], instanceType: m5.xlarge, version: "1.33"}, {nodegroupName: c, nodeRole: r, subnets: [s]}]`,
	},
	"aks": {
		before: `nodePools: [{name: a}, {name: b, count: 1, vmSize: s}]`,
		candidate: `kubernetesVersion: 1.33.2, tags: {owner: me}, nodePools: [{name: b, count: 2, orchestratorVersion: 1.33.2, nodeLabels: {l: "1"}, vmSize: s},
			{name: c, count: 1, vmSize: s}]`,
	},
	"gke": {
		before: `nodePools: [{name: a}, {name: b, initialNodeCount: 1}]`,
		candidate: `kubernetesVersion: 1.33.2-gke.100, clusterAddons: {horizontalPodAutoscaling: false}, masterAuthorizedNetworks: {enabled: true, cidrBlocks: [{cidrBlock: 10.0.0.0/8}]},
			loggingService: none, monitoringService: none, networkPolicyEnabled: true, locations: [europe-west3-a], maintenanceWindow: "03:00", labels: {owner: me},
			nodePools: [{name: b, initialNodeCount: 2, version: 1.33.2-gke.100, config: {labels: {l: "1"}, tags: [t], taints: [{key: k, effect: NO_SCHEDULE, value: v}], imageType: ubuntu_containerd, machineType: e2-standard-8}, autoscaling: {minNodeCount: 1, maxNodeCount: 3},
				management: {autoRepair: true}}, {name: c, initialNodeCount: 1}]`,
	},
}

// TestPlanIsWhatRuns: for a candidate that takes every call of the cloud, the plan has exactly the requests that
// the operator then sends, in their order. Afterwards nothing is left to do.
func TestPlanIsWhatRuns(t *testing.T) {
	eachCloud(t, func(r *rig, s side, name string) {
		s.add(r, name)
		with := func(fields string) string {
			return "nodePoolPolicy: Exclusive\n" + strings.TrimSuffix(s.spec, "}") + ", " + fields + "}"
		}
		r.cluster(name, with(planned[s.cloud].before))
		live := r.rest(name)

		candidate := v1alpha1.HostedClusterSpec{}
		if err := yaml.UnmarshalStrict([]byte(with(planned[s.cloud].candidate)), &candidate); err != nil {
			r.Fatal(err)
		}
		candidate.Credentials = live.Spec.Credentials
		plan, err := preview.Of(live, candidate, r.clock.Now())
		if err != nil {
			r.Fatal(err)
		}
		var want []string
		left := map[string]bool{}
		for _, call := range tables.Of(candidate.ClusterConfig).Calls {
			left[call.Name] = true
		}
		for _, request := range plan.Requests {
			var paths []string
			for _, change := range request.Changes {
				paths = append(paths, change.Path)
			}
			want = append(want, request.Call+" changes "+strings.Join(paths, ", "))
			delete(left, request.Call)
		}
		if len(left) > 0 {
			r.Errorf("the candidate does not take %v", slices.Sorted(maps.Keys(left)))
		}

		r.sent()
		r.edit(name, func(h *v1alpha1.HostedCluster) { h.Spec = candidate })
		after := r.rest(name)
		if diff := cmp.Diff(want, r.sent()); diff != "" {
			r.Errorf("-plan +sent:\n%s", diff)
		}
		if plan, err = preview.Of(after, after.Spec, r.clock.Now()); err != nil || plan.Changes {
			r.Errorf("then it would send %+v, %v", plan.Requests, err)
		}
	})
}

// rest reconciles until nothing is in the status that is left to do. In EC2, reads are POST requests, too, so the
// requests to the cloud do not show it.
func (r *rig) rest(name string) *v1alpha1.HostedCluster {
	r.Helper()
	for range 100 {
		before := writes.Load()
		r.next(name)
		if h := r.get(name); writes.Load() == before && len(h.Status.Operations) == 0 {
			return h
		}
	}
	r.Fatalf("it is never quiet: %+v", r.get(name).Status)
	return nil
}

// sent returns the requests that the operator has sent since the last call.
func (r *rig) sent() []string {
	var all []string
	for {
		select {
		case event := <-r.events.Events:
			if request, ok := strings.CutPrefix(event, "Normal Sent "); ok {
				all = append(all, request)
			}
		default:
			return all
		}
	}
}
