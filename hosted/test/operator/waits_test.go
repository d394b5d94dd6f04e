package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/internal/conditions"
)

// TestBrokenReplacement: EKS accepts the group that replaces another, and then fails to create its nodes. The old
// one stays until the new one works, and the condition says so. A broken group that the spec does not have any more
// is deleted.
func TestBrokenReplacement(t *testing.T) {
	const created, deletedA, deletedB = "POST /clusters/swap/node-groups", "DELETE /clusters/swap/node-groups/a", "DELETE /clusters/swap/node-groups/b"
	tests := map[string]struct {
		then func(r *rig)
		want []string
	}{
		"it works later": {
			then: func(r *rig) { r.clouds.eksS["swap"].EditGroup("b", func(g object) { g["status"] = "ACTIVE" }) },
			want: []string{created, deletedA},
		},
		"it is given up": {
			then: func(r *rig) {
				r.edit("swap", func(h *v1alpha1.HostedCluster) {
					h.Spec.EKSConfig.NodeGroups = []v1alpha1.EKSNodeGroup{{NodegroupName: "a"}}
				})
			},
			want: []string{created, deletedB},
		},
		"it gets another name": {
			then: func(r *rig) {
				r.edit("swap", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.NodeGroups[0].NodegroupName = "c" })
			},
			want: []string{created, created, deletedA, deletedB},
		},
		"it is deleted in the console": {
			then: func(r *rig) {
				r.clouds.eksS["swap"].Forget("b")
				r.condition(r.settle("swap"), v1alpha1.HostedInSync, v1alpha1.ReasonPushed,
					`DeleteNodegroup nodeGroups["a"] waits because nodeGroups["b"] is in the spec, and the cloud does not have it`)
				if changes := r.clouds.eksS["swap"].Changes(); !slices.Equal(changes, []string{created}) {
					r.Errorf("changes %v", changes)
				}
				r.edit("swap", func(h *v1alpha1.HostedCluster) {
					h.Spec.EKSConfig.NodeGroups[0].Labels = map[string]*string{"again": ptr.To("1")}
				})
			},
			want: []string{created, created, deletedA},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			cluster := r.clouds.addEKS(t, "swap")
			r.cluster("swap", "eksConfig: {displayName: swap, region: r, nodeGroups: [{nodegroupName: a}]}\nnodePoolPolicy: Exclusive")
			r.settle("swap")
			r.edit("swap", func(h *v1alpha1.HostedCluster) {
				h.Spec.EKSConfig.NodeGroups = []v1alpha1.EKSNodeGroup{{NodegroupName: "b", NodeRole: ptr.To("arn:r"), Subnets: []string{"s"}}}
			})
			r.next("swap")
			cluster.EditGroup("b", func(g object) {
				g["status"], g["health"] = "CREATE_FAILED", object{"issues": []any{object{"code": "AsgInstanceLaunchFailures", "message": "no quota"}}}
			})
			h := r.settle("swap")
			if !slices.Equal(cluster.Changes(), []string{created}) {
				t.Errorf("changes %v", cluster.Changes())
			}
			r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonPushed, `DeleteNodegroup nodeGroups["a"] waits because nodeGroups["b"] does not work yet`)
			r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonUnhealthy, "no quota")
			test.then(r)
			if r.settle("swap"); !slices.Equal(cluster.Changes(), test.want) {
				t.Errorf("changes %v, want %v", cluster.Changes(), test.want)
			}
		})
	}
}

// TestResumedDeletion: the answer to the deletion of a group is lost, and the group that replaces it breaks before the
// deletion is resumed. It waits, and is not given up.
func TestResumedDeletion(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "again")
	r.cluster("again", "eksConfig: {displayName: again, region: r, nodeGroups: [{nodegroupName: a}]}\nnodePoolPolicy: Exclusive")
	r.settle("again")
	r.clouds.before = func(q *http.Request, _, _ string) string {
		if q.Method == http.MethodDelete {
			return "ServiceUnavailable"
		}
		return ""
	}
	r.edit("again", func(h *v1alpha1.HostedCluster) {
		h.Spec.EKSConfig.NodeGroups = []v1alpha1.EKSNodeGroup{{NodegroupName: "b", NodeRole: ptr.To("arn:r"), Subnets: []string{"s"}}}
	})
	for range 3 {
		r.next("again")
	}
	if op := r.get("again").Status.InFlight(); op == nil || op.Call != "DeleteNodegroup" {
		t.Fatalf("in flight is %+v", op)
	}
	r.clouds.before = nil
	cluster.EditGroup("b", func(g object) { g["status"] = "CREATE_FAILED" })
	r.condition(r.settle("again"), v1alpha1.HostedInSync, v1alpha1.ReasonPushed, `DeleteNodegroup nodeGroups["a"] waits because nodeGroups["b"] does not work yet`)
	cluster.EditGroup("b", func(g object) { g["status"] = "ACTIVE" })
	if h := r.settle("again"); len(cluster.Changes()) != 2 || len(h.Status.Decisions) > 0 {
		t.Errorf("changes %v, decisions %+v", cluster.Changes(), h.Status.Decisions)
	}
}

// TestFailedDeletion: EKS cannot delete a group. It says why, other requests are sent, and the deletion is tried
// again after growing pauses.
func TestFailedDeletion(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "undead")
	cluster.Slow()
	r.cluster("undead", "eksConfig: {displayName: undead, region: r, nodeGroups: [{nodegroupName: a}]}\nnodePoolPolicy: Exclusive")
	r.settle("undead")
	r.edit("undead", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.NodeGroups = []v1alpha1.EKSNodeGroup{} })
	fails := func(pause time.Duration) {
		t.Helper()
		r.next("undead")
		r.condition(r.get("undead"), v1alpha1.HostedUpdating, v1alpha1.ReasonWaiting, "DeleteNodegroup")
		cluster.EditGroup("a", func(g object) {
			g["status"], g["health"] = "DELETE_FAILED", object{"issues": []any{object{"code": "Ec2SecurityGroupDeletionFailure", "message": "in use"}}}
		})
		r.reconcile("undead")
		h := r.get("undead")
		r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, "DELETE_FAILED: Ec2SecurityGroupDeletionFailure: in use")
		if got := h.Status.Operations[0].Pause.Duration; got != pause {
			t.Errorf("it waits for %v, want %v", got, pause)
		}
	}
	fails(time.Minute)
	r.edit("undead", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.Tags = map[string]*string{"owner": ptr.To("us")} })
	r.reconcile("undead")
	if want := []string{"DELETE /clusters/undead/node-groups/a", "POST /tags/arn:cluster/undead"}; !slices.Equal(cluster.Changes(), want) {
		t.Errorf("changes %v, want %v", cluster.Changes(), want)
	}
	r.reconcile("undead") // It reads the tags.
	r.clock.SetTime(r.clock.Now().Add(time.Minute))
	fails(2 * time.Minute)
	r.clock.SetTime(r.clock.Now().Add(2 * time.Minute))
	r.next("undead")
	cluster.Finish("")
	if h := r.settle("undead"); len(h.Status.UpstreamSpec.EKSConfig.NodeGroups) > 0 {
		t.Errorf("the group stays: %+v", h.Status.UpstreamSpec.EKSConfig.NodeGroups)
	}
}

// TestFailedInAKS: AKS accepts a request, and its operation fails. It is sent again after an hour, not at once.
func TestFailedInAKS(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addAKS(t, "quota")
	r.cluster("quota", "aksConfig: {resourceGroup: rg, clusterName: quota, resourceLocation: westeurope, nodePools: [{name: a, count: 2}]}")
	r.settle("quota")
	cluster.Fail("no quota")
	r.edit("quota", func(h *v1alpha1.HostedCluster) { h.Spec.AKSConfig.NodePools[0].Count = ptr.To(int32(5)) })
	for range 6 {
		r.next("quota")
	}
	h := r.get("quota")
	r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, `PUT agentPools nodePools["a"]: the node pool a is Failed: no quota`)
	r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonUnhealthy, "no quota")
	if len(cluster.Changes()) != 1 {
		t.Errorf("changes %v", cluster.Changes())
	}
	cluster.Fail("")
	r.clock.SetTime(r.clock.Now().Add(time.Hour))
	if h = r.settle("quota"); len(cluster.Changes()) != 2 || *h.Status.UpstreamSpec.AKSConfig.NodePools[0].Count != 5 {
		t.Errorf("after an hour: changes %v, %+v", cluster.Changes(), h.Status.UpstreamSpec.AKSConfig.NodePools)
	}
	r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
}

// TestStopped: a stopped cluster of AKS gets no requests, and gets them once it is started.
func TestStopped(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addAKS(t, "stopped")
	r.cluster("stopped", "aksConfig: {resourceGroup: rg, clusterName: stopped, resourceLocation: westeurope}")
	r.settle("stopped")
	power := func(code string) {
		cluster.Edit(func(c map[string]any) map[string]any {
			c["properties"].(map[string]any)["powerState"] = object{"code": code}
			return c
		})
	}
	power("Stopped")
	r.edit("stopped", func(h *v1alpha1.HostedCluster) { h.Spec.AKSConfig.Tags = map[string]*string{"case": ptr.To("47")} })
	for range 3 {
		r.next("stopped")
	}
	h := r.get("stopped")
	r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonUnhealthy, "the cluster is Stopped")
	r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonPushed, "")
	if len(cluster.Changes()) > 0 || len(h.Status.Operations) > 0 {
		t.Errorf("changes %v, operations %+v", cluster.Changes(), h.Status.Operations)
	}
	power("Running")
	if r.settle("stopped"); len(cluster.Changes()) != 1 {
		t.Errorf("once it is started: changes %v", cluster.Changes())
	}
}

// TestRightIsMissingStill: a request for which a right was missing is sent again. Until the cloud has answered,
// Ready does not become True.
func TestRightIsMissingStill(t *testing.T) {
	r := newRig(t)
	r.clouds.addEKS(t, "rights")
	r.cluster("rights", "eksConfig: {displayName: rights, region: r}")
	r.settle("rights")
	var ready []string
	r.clouds.before = func(q *http.Request, _, _ string) string {
		if q.Method == http.MethodGet {
			return ""
		}
		ready = append(ready, conditions.Reason(r.get("rights").Status.Conditions, v1alpha1.HostedReady))
		return "AccessDeniedException"
	}
	r.edit("rights", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	for range 3 {
		r.next("rights")
		r.clock.SetTime(r.clock.Now().Add(10 * time.Minute))
	}
	if want := []string{v1alpha1.ReasonRuns, v1alpha1.ReasonRightMissing, v1alpha1.ReasonRightMissing}; !slices.Equal(ready, want) {
		t.Errorf("when it was sent, Ready was %v, want %v", ready, want)
	}
	r.clouds.before = nil
	r.condition(r.settle("rights"), v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
}

// TestBusyIsNoFailure: a cloud that does something else refuses a request. That is not shown as a failure.
func TestBusyIsNoFailure(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "engaged")
	r.cluster("engaged", "eksConfig: {displayName: engaged, region: r}")
	r.settle("engaged")
	cluster.Busy(true)
	r.edit("engaged", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	r.reconcile("engaged")
	r.condition(r.get("engaged"), v1alpha1.HostedUpdating, v1alpha1.ReasonForeignUpdate, "ResourceInUseException")
	r.reconcile("engaged")
	r.condition(r.get("engaged"), v1alpha1.HostedUpdating, v1alpha1.ReasonBusy, "ResourceInUseException")
	cluster.Busy(false)
	r.clock.SetTime(r.clock.Now().Add(time.Minute))
	r.condition(r.settle("engaged"), v1alpha1.HostedUpdating, v1alpha1.ReasonIdle, "")
}

// TestThrottledChange: a cloud reads, and throttles changes. The request waits longer each time, and Ready stays True.
func TestThrottledChange(t *testing.T) {
	r := newRig(t)
	r.clouds.addEKS(t, "throttled")
	r.cluster("throttled", "eksConfig: {displayName: throttled, region: r}")
	r.settle("throttled")
	var throttled atomic.Int64
	r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { return throttling{c, &throttled} }}
	r.edit("throttled", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	for i, want := range []time.Duration{15, 30, 60, 120, 240, 480, 600, 600} {
		again := r.reconcile("throttled")
		h := r.get("throttled")
		if len(h.Status.Operations) != 1 {
			t.Fatalf("operations %+v", h.Status.Operations)
		}
		r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonBusy, cloud.ErrThrottled.Error())
		r.condition(h, v1alpha1.HostedSynced, v1alpha1.ReasonRead, "")
		r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
		pause := h.Status.Operations[0].Pause.Duration
		if pause != want*time.Second || again > pause || int(throttled.Load()) != i+1 {
			t.Errorf("try %d of %d: again after %v, pause %v, want %v", i+1, throttled.Load(), again, pause, want*time.Second)
		}
		r.clock.SetTime(h.Status.Operations[0].RetryAt.Time)
	}
}

// throttling throttles all changes.
type throttling struct {
	cloud.Client
	requests *atomic.Int64
}

func (t throttling) Send(context.Context, cloud.Reading, merge.Write, string) (string, error) {
	t.requests.Add(1)
	return "", fmt.Errorf("changing: %w", cloud.ErrThrottled)
}

// TestDeletionSaysWhy: while a cloud does not delete a cluster, Ready says why.
func TestDeletionSaysWhy(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "stays")
	cluster.Forget("a")
	r.cluster("stays", "eksConfig: {displayName: stays, region: r}\ndeletionPolicy: Delete")
	cluster.Tag(cloud.Mark, string(r.settle("stays").UID))
	cluster.Busy(true)
	if err := server.Delete(t.Context(), r.get("stays")); err != nil {
		t.Fatal(err)
	}
	r.next("stays")
	r.condition(r.get("stays"), v1alpha1.HostedReady, v1alpha1.ReasonDeleting, "ResourceInUseException")
	cluster.Busy(false)
	r.next("stays")
	r.next("stays")
	if err := server.Get(t.Context(), keyOf("stays"), &v1alpha1.HostedCluster{}); err == nil {
		t.Error("the object stays")
	}
}

// hanging counts reads, none of which is answered in time.
type hanging struct {
	cloud.Client
	reads *int
}

func (h hanging) Read(context.Context) (cloud.Reading, error) {
	*h.reads++
	return cloud.Reading{}, context.DeadlineExceeded
}

func (h hanging) Connection(context.Context) (cloud.Connection, error) {
	return cloud.Connection{}, nil
}

// TestHungAccountRenews: a cloud does not answer for an account. Only one of its clusters is read, so that the
// tokens of all of them are renewed in time.
func TestHungAccountRenews(t *testing.T) {
	r := newRig(t)
	b, reads := &binder{}, 0
	r.Binder = b
	for i := range 3 {
		name := fmt.Sprintf("hung-%d", i)
		r.clouds.addEKS(t, name)
		r.cluster(name, fmt.Sprintf("credentials: {secretRef: {name: hung-0}}\neksConfig: {displayName: %s, region: r}\nbinding: {clusterID: %s}", name, name))
	}
	r.Clouds = wrapped{r.Clouds, func(c cloud.Client) cloud.Client { return hanging{c, &reads} }}
	for range 3 {
		for i := range 3 {
			if again := r.reconcile(fmt.Sprintf("hung-%d", i)); again > time.Minute {
				t.Errorf("again after %v", again)
			}
		}
	}
	if reads != 3 || b.kept != 9 {
		t.Errorf("%d reads, and tokens were looked at %d times", reads, b.kept)
	}
	const tried = "the cloud does not answer for these credentials; cluster hung-0 is tried"
	r.condition(r.get("hung-1"), v1alpha1.HostedSynced, v1alpha1.ReasonRequestFailed, tried)
	r.condition(r.get("hung-1"), v1alpha1.HostedReady, v1alpha1.ReasonRequestFailed, "")
	// A cluster that is not read says nothing about its cloud.
	r.edit("hung-2", func(h *v1alpha1.HostedCluster) { h.Spec.Paused = true })
	r.reconcile("hung-2")
	if r.reconcile("hung-1"); reads != 3 {
		t.Errorf("%d reads after a cluster is paused", reads)
	}
	r.clock.SetTime(r.clock.Now().Add(2 * time.Minute))
	if r.reconcile("hung-1"); reads != 4 {
		t.Errorf("%d reads after a while", reads)
	}
}

// TestRefusedByOurAPI: the cloud has a value that no field of ours can hold. A condition says so.
func TestRefusedByOurAPI(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "invalid")
	r.cluster("invalid", "eksConfig: {displayName: invalid, region: r}")
	r.settle("invalid")
	version := func(to string) func(object) object {
		return func(c object) object { c["version"] = to; return c }
	}
	cluster.Edit(version(strings.Repeat("1", 99)))
	r.next("invalid")
	r.condition(r.get("invalid"), v1alpha1.HostedSynced, v1alpha1.ReasonInvalid, "status.upstreamSpec.eksConfig.kubernetesVersion")
	r.condition(r.get("invalid"), v1alpha1.HostedReady, v1alpha1.ReasonInvalid, "")
	cluster.Edit(version("1.33"))
	r.condition(r.settle("invalid"), v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
}
