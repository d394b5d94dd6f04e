package operator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// side has what differs between the clouds in the same story.
type side struct {
	cloud, spec string
	// add creates the cluster. It returns an edit of the cluster's tags in the console, and the changes by
	// requests.
	add func(r *rig, name string) (edit func(key, value string), changes func() []string)
	// edit is any edit in the console.
	edit func(r *rig, name string, change func(object) object)
	// tags and version are fields of the spec.
	tags    func(h *v1alpha1.HostedCluster) *map[string]*string
	version func(h *v1alpha1.HostedCluster) **string
	next    string
}

func setTag(field, key, value string) func(object) object {
	return func(cluster object) object {
		tags := object{}
		for k, v := range cluster[field].(object) {
			tags[k] = v
		}
		tags[key] = value
		cluster[field] = tags
		return cluster
	}
}

var sides = map[string]side{
	"eks": {
		spec: "eksConfig: {displayName: NAME, region: eu-central-1}",
		add: func(r *rig, name string) (func(string, string), func() []string) {
			cluster := r.clouds.addEKS(r.T, name)
			return func(key, value string) { cluster.Edit(setTag("tags", key, value)) }, cluster.Changes
		},
		edit:    func(r *rig, name string, change func(object) object) { r.clouds.eksS[name].Edit(change) },
		tags:    func(h *v1alpha1.HostedCluster) *map[string]*string { return &h.Spec.EKSConfig.Tags },
		version: func(h *v1alpha1.HostedCluster) **string { return &h.Spec.EKSConfig.KubernetesVersion },
		next:    "1.33",
	},
	"aks": {
		spec: "aksConfig: {resourceGroup: rg, clusterName: NAME, resourceLocation: westeurope}",
		add: func(r *rig, name string) (func(string, string), func() []string) {
			cluster := r.clouds.addAKS(r.T, name)
			return func(key, value string) { cluster.Edit(setTag("tags", key, value)) }, cluster.Changes
		},
		edit:    func(r *rig, name string, change func(object) object) { r.clouds.aksS[name].Edit(change) },
		tags:    func(h *v1alpha1.HostedCluster) *map[string]*string { return &h.Spec.AKSConfig.Tags },
		version: func(h *v1alpha1.HostedCluster) **string { return &h.Spec.AKSConfig.KubernetesVersion },
		next:    "1.33.2",
	},
	"gke": {
		spec: "gkeConfig: {projectID: p, clusterName: NAME, region: europe-west3}",
		add: func(r *rig, name string) (func(string, string), func() []string) {
			cluster := r.clouds.addGKE(r.T, name)
			return func(key, value string) { cluster.Edit(setTag("resourceLabels", key, value)) }, cluster.Changes
		},
		edit:    func(r *rig, name string, change func(object) object) { r.clouds.gkeS[name].Edit(change) },
		tags:    func(h *v1alpha1.HostedCluster) *map[string]*string { return &h.Spec.GKEConfig.Labels },
		version: func(h *v1alpha1.HostedCluster) **string { return &h.Spec.GKEConfig.KubernetesVersion },
		next:    "1.33.2-gke.100",
	},
}

func eachCloud(t *testing.T, test func(r *rig, s side, name string)) {
	for cloud, s := range sides {
		t.Run(cloud, func(t *testing.T) {
			s.cloud = cloud
			name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
			name = name[max(0, len(name)-40):]
			s.spec = strings.ReplaceAll(s.spec, "NAME", strings.Trim(name, "-"))
			test(newRig(t), s, strings.Trim(name, "-"))
		})
	}
}

// TestStory: a cluster is imported. An edit in the console is adopted, and one of the spec is pushed. A
// conflict is shown, and resolved with the values from the status.
func TestStory(t *testing.T) {
	eachCloud(t, func(r *rig, s side, name string) {
		edit, changes := s.add(r, name)
		r.cluster(name, s.spec)

		h := r.settle(name)
		r.condition(h, v1alpha1.HostedReady, v1alpha1.ReasonRuns, "")
		r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonAgreed, "")
		r.condition(h, v1alpha1.HostedCredentialsValid, v1alpha1.ReasonAccepted, "")
		if h.Status.KubernetesVersion == "" || len(h.Status.Managed) != 0 && h.Status.Managed[0].State != "Agreed" {
			r.Errorf("imported as %+v", h.Status)
		}

		// The spec sets the same value; then the console changes it.
		r.edit(name, func(h *v1alpha1.HostedCluster) { *s.tags(h) = map[string]*string{"owner": ptr.To("shop")} })
		r.settle(name)
		edit("owner", "console")
		h = r.settle(name)
		r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonSuperseded, `the spec has "shop", the cloud "console"`)
		if len(changes()) != 0 || len(h.Status.Decisions) != 1 || h.Status.Decisions[0].Lost != `"shop"` {
			r.Errorf("adopted with %v and %+v", changes(), h.Status.Decisions)
		}
		if !r.happened("Overwritten") {
			r.Error("no event says what was overwritten")
		}

		// An edit of the spec is pushed once.
		r.edit(name, func(h *v1alpha1.HostedCluster) { *s.version(h) = &s.next; (*s.tags(h))["owner"] = ptr.To("console") })
		h = r.settle(name)
		r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonAgreed, "")
		r.condition(h, v1alpha1.HostedUpdating, v1alpha1.ReasonIdle, "")
		if h.Status.KubernetesVersion != s.next || len(changes()) != 1 {
			r.Errorf("the version is %s after %v", h.Status.KubernetesVersion, changes())
		}

		// Both sides change: nothing is done until the user decides.
		r.edit(name, func(h *v1alpha1.HostedCluster) { (*s.tags(h))["owner"] = ptr.To("ours") })
		edit("owner", "theirs")
		h = r.settle(name)
		r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonConflict, `the spec has "ours", the cloud "theirs"`)
		if len(h.Status.Conflicts) != 1 || len(changes()) != 1 {
			r.Fatalf("in conflict: %+v after %v", h.Status.Conflicts, changes())
		}
		conflict := h.Status.Conflicts[0]
		r.edit(name, func(h *v1alpha1.HostedCluster) {
			h.Spec.Sync.Resolutions = []v1alpha1.Resolution{{Path: conflict.Path, Take: v1alpha1.SideSpec, UpstreamHash: conflict.UpstreamHash}}
		})
		h = r.settle(name)
		r.condition(h, v1alpha1.HostedInSync, v1alpha1.ReasonAgreed, "")
		last := h.Status.Decisions[len(h.Status.Decisions)-1]
		if last.Kept != `"ours"` || last.Lost != `"theirs"` || len(changes()) != 2 {
			r.Errorf("resolved with %+v after %v", last, changes())
		}
	})
}

// TestWriteBack: as in Rancher, the console's value overwrites the spec.
func TestWriteBack(t *testing.T) {
	eachCloud(t, func(r *rig, s side, name string) {
		edit, changes := s.add(r, name)
		r.cluster(name, s.spec+"\nsync: {writeBack: Always}")
		r.edit(name, func(h *v1alpha1.HostedCluster) { *s.tags(h) = map[string]*string{"owner": ptr.To("shop")} })
		r.settle(name)
		edit("owner", "console")
		h := r.settle(name)
		if got := *(*s.tags(h))["owner"]; got != "console" || len(changes()) != 0 {
			r.Errorf("the spec has %s, after %v", got, changes())
		}
	})
}

// TestForget: the object is deleted, and the cluster stays; the cloud gets no request.
func TestForget(t *testing.T) {
	eachCloud(t, func(r *rig, s side, name string) {
		_, changes := s.add(r, name)
		r.cluster(name, s.spec)
		r.settle(name)
		if !slices.Contains(r.get(name).Finalizers, v1alpha1.FinalizerHosted) {
			r.Error("there is no finalizer")
		}
		if err := server.Delete(r.Context(), r.get(name)); err != nil {
			r.Fatal(err)
		}
		before, _ := r.clouds.counts()
		r.reconcile(name)
		if after, _ := r.clouds.counts(); after != before || len(changes()) != 0 {
			r.Errorf("%d requests to the cloud, changes %v", after-before, changes())
		}
		if err := server.Get(r.Context(), keyOf(name), &v1alpha1.HostedCluster{}); err == nil {
			r.Error("the object stays")
		}
	})
}

// TestPaused: the cloud gets no request.
func TestPaused(t *testing.T) {
	eachCloud(t, func(r *rig, s side, name string) {
		s.add(r, name)
		r.cluster(name, s.spec+"\npaused: true")
		r.reconcile(name)
		if requests, _ := r.clouds.counts(); requests != 0 {
			r.Errorf("%d requests", requests)
		}
		r.condition(r.get(name), v1alpha1.HostedReady, v1alpha1.ReasonPaused, "")
	})
}

// TestGoneAndReplaced: a cluster that is deleted in the console is not created again. Another one with its
// name is not taken for it.
func TestGoneAndReplaced(t *testing.T) {
	r := newRig(t)
	r.cluster("gone", "eksConfig: {displayName: gone, region: r, tags: {owner: us}}\nlifecycle: {mode: Create}\ndeletionPolicy: Orphan\nsync: {conflict: PreferSpec}")
	cluster := r.clouds.addEKS(t, "gone")
	cluster.Tag(cloud.Mark, string(r.get("gone").UID))
	r.settle("gone")
	changes := len(cluster.Changes())
	r.clouds.eksS["gone"] = nil
	r.condition(r.settle("gone"), v1alpha1.HostedSynced, v1alpha1.ReasonNotFound, "does not have the cluster")
	r.condition(r.get("gone"), v1alpha1.HostedReady, v1alpha1.ReasonNotFound, "")

	r.clouds.eksS["gone"] = cluster
	cluster.Edit(func(c object) object {
		c["createdAt"] = 1_900_000_000
		return setTag("tags", "owner", "another")(c)
	})
	r.condition(r.settle("gone"), v1alpha1.HostedSynced, v1alpha1.ReasonReplaced, "recreated with the same name")
	if len(cluster.Changes()) != changes {
		t.Errorf("changes of another cluster: %v", cluster.Changes())
	}
}

// TestImmutable: a field that cannot change is named.
func TestImmutable(t *testing.T) {
	r := newRig(t)
	r.clouds.addEKS(t, "immutable")
	r.cluster("immutable", "eksConfig: {displayName: immutable, region: r, kmsKey: another}")
	r.condition(r.settle("immutable"), v1alpha1.HostedInSync, v1alpha1.ReasonImmutableDiffers, `kmsKey is ImmutableDiffers: the spec has "another"`)
}

// TestTimeJumps: whatever the clock does, the next reconcile comes between the shortest and the longest
// interval.
func TestTimeJumps(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addEKS(t, "jumps")
	cluster.Slow()
	r.cluster("jumps", `eksConfig: {displayName: jumps, region: r}`)
	r.settle("jumps")
	r.edit("jumps", func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.KubernetesVersion = ptr.To("1.33") })
	r.reconcile("jumps")
	for _, jump := range []time.Duration{-1000 * time.Hour, 100_000 * time.Hour, 0} {
		r.clock.SetTime(r.clock.Now().Add(jump))
		if d := r.reconcile("jumps"); d < 15*time.Second || d > 2*time.Minute {
			t.Errorf("after a jump of %v: %v", jump, d)
		}
	}
	cluster.Finish("")
	if changes := cluster.Changes(); len(changes) != 1 || r.settle("jumps").Status.KubernetesVersion != "1.33" {
		t.Errorf("changes %v", changes)
	}
}
