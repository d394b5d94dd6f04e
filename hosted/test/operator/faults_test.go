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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/controller"
	"github.com/spillway-io/spillway/hosted/merge"
)

// wrapped wraps each client.
type wrapped struct {
	controller.Clouds
	wrap func(cloud.Client) cloud.Client
}

func (w wrapped) Client(ctx context.Context, h *v1alpha1.HostedCluster, secret *corev1.Secret) (cloud.Client, error) {
	c, err := w.Clouds.Client(ctx, h, secret)
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

// TestActiveIsNotBelieved: during an update, EKS reports ACTIVE with the old values. The operator decides
// nothing until the update is done.
func TestActiveIsNotBelieved(t *testing.T) {
	if why := active(newRig(t), "active", nil); why != "" {
		t.Error(why)
	}
}

// TestActiveBelieved shows that the previous test can fail.
func TestActiveBelieved(t *testing.T) {
	believe := func(c cloud.Client) cloud.Client { return believing{c} }
	if why := active(newRig(t), "believed", believe); why == "" {
		t.Error("it is not caught")
	} else {
		t.Log("caught:", why)
	}
}

// believing takes each operation for done, because the cluster says so.
type believing struct{ cloud.Client }

func (b believing) Operation(ctx context.Context, item, id string) (cloud.Operation, error) {
	operation, err := b.Client.Operation(ctx, item, id)
	operation.Done = true
	return operation, err
}

func active(r *rig, name string, bug func(cloud.Client) cloud.Client) string {
	cluster := r.clouds.addEKS(r.T, name)
	cluster.Slow()
	r.cluster(name, fmt.Sprintf("eksConfig: {displayName: %s, region: r}", name))
	r.settle(name)
	if bug != nil {
		r.Clouds = wrapped{r.Clouds, bug}
	}
	r.edit(name, func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	for range 5 {
		r.next(name)
		if h := r.get(name); len(h.Status.Conflicts) > 0 || h.Status.InFlight() == nil {
			return fmt.Sprintf("while it is in progress: %+v, operation %v", h.Status.Conflicts, h.Status.Operations)
		}
	}
	r.condition(r.get(name), v1alpha1.HostedUpdating, v1alpha1.ReasonWaiting, "UpdateClusterVersion")
	cluster.Finish("")
	h := r.settle(name)
	if h.Status.KubernetesVersion != "1.33" || len(cluster.Changes()) != 1 || len(h.Status.Conflicts) > 0 {
		return fmt.Sprintf("in the end: %s after %v, conflicts %v", h.Status.KubernetesVersion, cluster.Changes(), h.Status.Conflicts)
	}
	return ""
}

// TestForeignUpdate: during somebody else's update, the operator pushes and adopts nothing, although EKS
// reports ACTIVE.
func TestForeignUpdate(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "foreign")
	cluster.Slow()
	r.cluster("foreign", "eksConfig: {displayName: foreign, region: r}")
	r.settle("foreign")
	r.console("foreign", object{"publicAccess": false})()
	r.edit("foreign", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	for range 3 {
		r.next("foreign")
	}
	h := r.get("foreign")
	r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonForeignUpdate, "update-0")
	if len(cluster.Changes()) != 1 || len(h.Status.Operations) > 0 {
		t.Errorf("changes %v, operation %+v", cluster.Changes(), h.Status.Operations)
	}
	cluster.Finish("")
	r.next("foreign")
	cluster.Finish("")
	h = r.settle("foreign")
	if len(cluster.Changes()) != 2 || h.Status.KubernetesVersion != "1.33" || *h.Status.UpstreamSpec.EKSConfig.PublicAccess {
		t.Errorf("changes %v, %+v", cluster.Changes(), h.Status.UpstreamSpec.EKSConfig)
	}
}

// TestOverwritten: somebody else's update between our read and our request is named with its value. EKS does
// not report such an update.
func TestOverwritten(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "between")
	r.cluster("between", "eksConfig: {displayName: between, region: r, publicAccessSources: [10.0.0.0/8]}")
	r.settle("between")
	console := r.console("between", object{"publicAccessSources": []any{"198.51.100.0/24"}})
	var came atomic.Bool
	r.clouds.before = func(request *http.Request, _, _ string) string {
		if request.Method != http.MethodGet && came.CompareAndSwap(false, true) {
			console()
		}
		return ""
	}
	r.edit("between", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.PublicAccessSources = []string{"192.0.2.0/24"} })
	h := r.settle("between")
	if len(h.Status.Decisions) != 1 || h.Status.Decisions[0].Lost != `["198.51.100.0/24"]` || h.Status.Decisions[0].Take != v1alpha1.SideSpec {
		t.Errorf("decisions %+v", h.Status.Decisions)
	}
	if len(cluster.Changes()) != 2 || !slices.Equal(h.Status.UpstreamSpec.EKSConfig.PublicAccessSources, []string{"192.0.2.0/24"}) || !r.happened("198.51.100.0/24") {
		t.Errorf("changes %v, %v", cluster.Changes(), h.Status.UpstreamSpec.EKSConfig.PublicAccessSources)
	}
}

// console returns somebody else's request for the same cluster.
func (r *rig) console(name string, spec object) func() {
	r.Helper()
	client, err := r.Clouds.Client(r.Context(), r.get(name), r.secret(name))
	if err != nil {
		r.Fatal(err)
	}
	reading, err := client.Read(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	write := merge.Merge(merge.Input{Table: client.Table(), Spec: spec, Upstream: reading.Config, Published: reading.Config, Versions: reading.Versions, Complete: true}).Writes[0]
	return func() {
		if _, err := client.Send(r.Context(), reading, write, "console"); err != nil {
			r.Error(err)
		}
	}
}

func (r *rig) secret(name string) *corev1.Secret {
	r.Helper()
	secret := &corev1.Secret{}
	if err := server.Get(r.Context(), client.ObjectKey{Namespace: "default", Name: name}, secret); err != nil {
		r.Fatal(err)
	}
	return secret
}

// TestFailedUpdate: an update that fails half way is reported in the cloud's own words. It is repeated only
// after an hour, or with another spec.
func TestFailedUpdate(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "fails")
	cluster.Slow()
	r.cluster("fails", "eksConfig: {displayName: fails, region: r}")
	r.settle("fails")
	r.edit("fails", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	r.next("fails")
	cluster.Finish("a webhook is in the way")
	r.next("fails")
	h := r.get("fails")
	r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, "a webhook is in the way")
	r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonPushed, "")
	if !r.happened(v1alpha1.ReasonUpdateFailed) {
		t.Error("no event says so")
	}
	wrote := writes.Load()
	for range 3 {
		r.next("fails")
	}
	if len(cluster.Changes()) != 1 || writes.Load() != wrote {
		t.Errorf("%v, and %d writes", cluster.Changes(), writes.Load()-wrote)
	}
	r.clock.SetTime(r.clock.Now().Add(time.Hour))
	r.next("fails")
	if len(cluster.Changes()) != 2 {
		t.Errorf("after an hour: %v", cluster.Changes())
	}
	cluster.Finish("again")
	r.next("fails")
	r.edit("fails", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.34") })
	r.next("fails")
	if len(cluster.Changes()) != 3 {
		t.Errorf("with another spec: %v", cluster.Changes())
	}
	cluster.Finish("")
	if h = r.settle("fails"); h.Status.KubernetesVersion != "1.34" || len(h.Status.Conflicts) != 0 {
		t.Errorf("in the end: %+v", h.Status)
	}
}

// TestFailedAddon: an update of the add-on fails. It waits by itself, and is sent again after an hour.
func TestFailedAddon(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "addon")
	r.cluster("addon", "eksConfig: {displayName: addon, region: r, ebsCSIDriver: true}")
	r.settle("addon")
	cluster.Slow()
	r.edit("addon", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.EBSCSIDriverRole = ptr.To("arn:ebs") })
	r.next("addon")
	r.condition(r.get("addon"), v1alpha1.HostedUpdating, v1alpha1.ReasonWaiting, "SetAddon(ebsCSIDriver)")
	cluster.Finish("no such role")
	r.next("addon")
	r.condition(r.get("addon"), v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, "no such role")
	r.edit("addon", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.Tags = map[string]*string{"owner": ptr.To("us")} })
	for range 3 {
		r.next("addon")
	}
	const create, update, tag = "POST /clusters/addon/addons", "POST /clusters/addon/addons/aws-ebs-csi-driver/update", "POST /tags/arn:cluster/addon"
	if want := []string{create, update, tag}; !slices.Equal(cluster.Changes(), want) {
		t.Errorf("changes %v, want %v", cluster.Changes(), want)
	}
	r.clock.SetTime(r.clock.Now().Add(time.Hour))
	r.next("addon")
	cluster.Finish("")
	h := r.settle("addon")
	if role := h.Status.UpstreamSpec.EKSConfig.EBSCSIDriverRole; role == nil || *role != "arn:ebs" || len(cluster.Changes()) != 4 {
		t.Errorf("after an hour: %v, %v", role, cluster.Changes())
	}
}

// TestRefusedWaitsAlone: EKS refuses the launch template of a group. All other changes are sent, also to the same
// group and in later edits. The refused request is sent again only when it is due, or with another value.
func TestRefusedWaitsAlone(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "alone")
	var tries atomic.Int64
	r.clouds.before = func(q *http.Request, _, _ string) string {
		if strings.HasSuffix(q.URL.Path, "/update-version") {
			tries.Add(1)
		}
		return ""
	}
	r.cluster("alone", "eksConfig: {displayName: alone, region: r}")
	r.settle("alone")
	group := func(h *v1alpha1.HostedCluster) *v1alpha1.EKSNodeGroup { return &h.Spec.EKSConfig.NodeGroups[0] }
	r.edit("alone", func(h *v1alpha1.HostedCluster) {
		h.Spec.EKSConfig.Tags = map[string]*string{"owner": ptr.To("us")}
		h.Spec.EKSConfig.NodeGroups = []v1alpha1.EKSNodeGroup{{
			NodegroupName: "a", MaxSize: ptr.To(int32(5)), Labels: map[string]*string{"tier": ptr.To("db")},
			LaunchTemplate: &v1alpha1.EKSLaunchTemplate{ID: ptr.To("lt-1")},
		}}
	})
	quiet := func(what string, changes, want int) {
		t.Helper()
		for range 7 {
			r.next("alone")
		}
		wrote := writes.Load()
		r.next("alone")
		if len(cluster.Changes()) != changes || int(tries.Load()) != want || writes.Load() != wrote {
			t.Errorf("%s: changes %v, want %d; tried %d times, want %d; %d writes of the same", what, cluster.Changes(), changes, tries.Load(), want, writes.Load()-wrote)
		}
		r.condition(r.get("alone"), v1alpha1.HostedUpdating, v1alpha1.ReasonUpdateFailed, `UpdateNodegroupVersion nodeGroups["a"]: `)
		r.condition(r.get("alone"), v1alpha1.HostedInSync, v1alpha1.ReasonPushed, "launchTemplate.id")
		r.condition(r.get("alone"), v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
	}
	quiet("one is refused", 3, 1)
	r.edit("alone", func(h *v1alpha1.HostedCluster) { group(h).Labels["case"] = ptr.To("47") })
	quiet("another edit", 4, 1)
	r.edit("alone", func(h *v1alpha1.HostedCluster) { group(h).LaunchTemplate.ID = ptr.To("lt-2") })
	quiet("another value", 4, 2)
	r.clock.SetTime(r.clock.Now().Add(time.Hour))
	quiet("after an hour", 4, 3)
	r.edit("alone", func(h *v1alpha1.HostedCluster) { group(h).LaunchTemplate = nil })
	if h := r.settle("alone"); len(h.Status.Operations) > 0 {
		t.Errorf("it is not wanted any more: %+v", h.Status.Operations)
	}
	r.condition(r.get("alone"), v1alpha1.HostedUpdating, v1alpha1.ReasonIdle, "")
}

// TestUnhealthy: the last operation of somebody else has failed. Ready says so, in the cloud's words, and changes
// are sent nevertheless.
func TestUnhealthy(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addAKS(t, "ill")
	cluster.Edit(func(c map[string]any) map[string]any {
		properties := c["properties"].(map[string]any)
		properties["provisioningState"], properties["status"] = "Failed", object{"provisioningError": object{"message": "no quota"}}
		return c
	})
	r.cluster("ill", "aksConfig: {resourceGroup: rg, clusterName: ill, resourceLocation: westeurope}")
	r.condition(r.settle("ill"), v1alpha1.HostedReady, v1alpha1.ReasonUnhealthy, "the cluster is Failed: no quota")
	r.edit("ill", func(h *v1alpha1.HostedCluster) { h.Spec.AKSConfig.Tags = map[string]*string{"case": ptr.To("47")} })
	if r.settle("ill"); len(cluster.Changes()) != 1 {
		t.Errorf("changes %v", cluster.Changes())
	}
}
