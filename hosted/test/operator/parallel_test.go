package operator_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/state"
)

// TestPoolsInParallel: requests for three groups are in flight at the same time. A change of the cluster waits for
// all of them, a group whose update fails waits by itself, and a change in the console is adopted once it is done.
func TestPoolsInParallel(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "many")
	r.cluster("many", "eksConfig: {displayName: many, region: r, nodeGroups: [{nodegroupName: a, labels: {tier: web}}]}")
	r.settle("many")
	cluster.SlowGroups()
	const createB, createC, labelA, tagged = "POST /clusters/many/node-groups", "POST /clusters/many/node-groups", "POST /clusters/many/node-groups/a/update-config", "POST /tags/arn:cluster/many"
	r.edit("many", func(h *v1alpha1.HostedCluster) {
		c := h.Spec.EKSConfig
		c.NodeGroups[0].Labels["tier"] = ptr.To("db")
		for _, name := range []string{"b", "c"} {
			c.NodeGroups = append(c.NodeGroups, v1alpha1.EKSNodeGroup{NodegroupName: name, NodeRole: ptr.To("arn:r"), Subnets: []string{"s"}, Version: ptr.To("1.32")})
		}
	})
	want := []string{createB, createC, labelA}
	for i := range want {
		if again := r.reconcile("many"); i < len(want)-1 && again != state.Soon {
			t.Errorf("after request %d: again after %v", i+1, again)
		}
	}
	sent := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(cluster.Changes(), want) {
			t.Errorf("%s: changes %v, want %v", what, cluster.Changes(), want)
		}
	}
	sent("all at the same time", want...)
	r.condition(r.get("many"), v1alpha1.HostedUpdating, v1alpha1.ReasonWaiting, `UpdateNodegroupConfig(labels) nodeGroups["a"]`)
	r.condition(r.get("many"), v1alpha1.HostedUpdating, v1alpha1.ReasonWaiting, `CreateNodegroup nodeGroups["c"]`)

	cluster.EditGroup("b", func(g object) { g["labels"] = object{"by": "console"} })
	r.edit("many", func(h *v1alpha1.HostedCluster) {
		h.Spec.EKSConfig.Tags = map[string]*string{"cost": ptr.To("8")}
		h.Spec.EKSConfig.NodeGroups[1].Labels = map[string]*string{"by": ptr.To("spec")}
	})
	wrote := writes.Load()
	for range 3 {
		r.next("many")
	}
	sent("while groups are changed", want...)
	if h := r.get("many"); len(h.Status.Conflicts) > 0 || len(h.Status.Decisions) > 0 || len(h.Status.UpstreamSpec.EKSConfig.NodeGroups) != 1 {
		t.Errorf("half a change counts: %+v, decisions %+v", h.Status.UpstreamSpec.EKSConfig.NodeGroups, h.Status.Decisions)
	}
	if writes.Load()-wrote > 1 {
		t.Errorf("%d writes say the same", writes.Load()-wrote)
	}

	cluster.FinishGroup("a", "a pod is in the way")
	cluster.FinishGroup("b", "")
	cluster.FinishGroup("c", "")
	for range 3 {
		r.next("many")
	}
	sent("once they are done", append(slices.Clone(want), tagged)...)
	h := r.get("many")
	r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, "a pod is in the way")
	if len(h.Status.Conflicts) != 1 || h.Status.Conflicts[0].Path != `nodeGroups["b"].labels["by"]` {
		t.Errorf("what both sides have set of b: %+v", h.Status.Conflicts)
	}
	r.clock.SetTime(r.clock.Now().Add(time.Hour))
	r.next("many")
	sent("after an hour", append(slices.Clone(want), tagged, labelA)...)
}

// TestRefusedWaitsForItsPool: a refused request for a group waits as long as it should, also if another request for the
// same group is carried out meanwhile, and fails, too.
func TestRefusedWaitsForItsPool(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "turns")
	r.cluster("turns", "eksConfig: {displayName: turns, region: r}")
	r.settle("turns")
	cluster.SlowGroups()
	r.edit("turns", func(h *v1alpha1.HostedCluster) {
		h.Spec.EKSConfig.NodeGroups = []v1alpha1.EKSNodeGroup{{
			NodegroupName: "a", MaxSize: ptr.To(int32(9)), Labels: map[string]*string{"tier": ptr.To("db")},
		}}
	})
	for range 5 {
		// The group is being changed when it is read the second time.
		r.next("turns")
		r.next("turns")
		cluster.FinishGroup("a", "a pod is in the way")
	}
	h := r.get("turns")
	if len(cluster.Changes()) != 2 || len(h.Status.Operations) != 2 {
		t.Errorf("changes %v, operations %+v", cluster.Changes(), h.Status.Operations)
	}
}

// TestFailureIsNotForgotten: an operation has failed, and the reconcile that reads that cannot decide. What it has
// changed nevertheless is known to the next one.
func TestFailureIsNotForgotten(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "half")
	r.cluster("half", "eksConfig: {displayName: half, region: r}")
	r.settle("half")
	cluster.SlowGroups()
	group := func(h *v1alpha1.HostedCluster) *v1alpha1.EKSNodeGroup { return &h.Spec.EKSConfig.NodeGroups[0] }
	r.edit("half", func(h *v1alpha1.HostedCluster) {
		h.Spec.EKSConfig.NodeGroups = []v1alpha1.EKSNodeGroup{{NodegroupName: "a", Labels: map[string]*string{"x": ptr.To("1"), "y": ptr.To("1")}}}
	})
	r.next("half")
	cluster.FinishGroup("a", "a pod is in the way")
	cluster.EditGroup("a", func(g object) { g["labels"] = object{"tier": "web", "x": "1"} })
	r.edit("half", func(h *v1alpha1.HostedCluster) { group(h).Labels["x"] = ptr.To("2") })
	r.clouds.before = func(q *http.Request, _, _ string) string {
		if strings.HasSuffix(q.URL.Path, "/updates") {
			return "ServiceUnavailable"
		}
		return ""
	}
	r.next("half")
	if h := r.get("half"); h.Status.InFlight() == nil {
		t.Errorf("it was noted without a decision: %+v", h.Status.Operations)
	}
	r.clouds.before = nil
	r.next("half")
	if h := r.get("half"); len(h.Status.Conflicts)+len(h.Status.Decisions) > 0 {
		t.Errorf("conflicts %+v, decisions %+v", h.Status.Conflicts, h.Status.Decisions)
	}
}

// TestPoolsAreResumed: the process ends while two requests for groups are in flight, and their answers are not known.
// The next process continues with both, and sends neither twice.
func TestPoolsAreResumed(t *testing.T) {
	for at := 1; at < 40; at++ {
		p := &points{at: at, where: []string{before, after, lost}[at%3]}
		if !playPools(newRig(t), p) {
			return
		}
	}
}

func playPools(r *rig, p *points) bool {
	cluster := r.clouds.addEKS(r.T, "resumed")
	r.cluster("resumed", "eksConfig: {displayName: resumed, region: r}")
	defer func() {
		h := r.get("resumed")
		h.Finalizers = nil
		_ = server.Update(r.Context(), h)
		_ = server.Delete(r.Context(), h)
		_ = server.Delete(r.Context(), r.secret("resumed"))
	}()
	r.settle("resumed")
	cluster.SlowGroups()
	r.edit("resumed", func(h *v1alpha1.HostedCluster) {
		h.Spec.EKSConfig.NodeGroups = []v1alpha1.EKSNodeGroup{
			{NodegroupName: "a", MaxSize: ptr.To(int32(9))}, {NodegroupName: "b", NodeRole: ptr.To("arn:r"), Subnets: []string{"s"}},
		}
	})
	r.restart()
	r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { return cloudAt{c, p} }}
	r.Client = serverAt{r.Client, p}
	for i := range 14 {
		r.mayCrash("resumed")
		if i > 5 {
			cluster.FinishGroup("a", "")
			cluster.FinishGroup("b", "")
		}
	}
	r.restart()
	h := r.settle("resumed")
	if len(cluster.Changes()) != 2 || len(h.Status.Conflicts) > 0 || len(h.Status.Decisions) > 0 {
		r.Errorf("%s call %d: changes %v, conflicts %+v, decisions %+v", p.where, p.at, cluster.Changes(), h.Status.Conflicts, h.Status.Decisions)
	}
	r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonAgreed, "")
	return p.gone
}
