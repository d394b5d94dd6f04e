//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/run"
	"github.com/spillway-io/spillway/test/faults/scenario"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/manifests"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// The fault harness crashes managers in this process, at each of their writes (docs/reliability.md). There, the
// kubelet and the driver are played; here they are real.
var _ = Describe("A claim whose volume the provider creates", Ordered, Label("storage"), crashes, func() {
	var life *claimLife

	BeforeAll(func() {
		needStorage()
		dc.addStorage()
		mapStorage()
		life = &claimLife{team: newTeam("quarry", dc)}
		stopManager()
		DeferCleanup(startManager)
	})

	It("has the same life, whichever write of it the manager dies at", func() {
		wanted, err := recipe.Parse(*faults)
		Expect(err).NotTo(HaveOccurred())
		lane := overBoth()
		DeferCleanup(func() { Expect(lane.Close()).To(Succeed()) })
		engine, err := run.New(ctx, &world.Site{Lanes: []*world.Lane{lane}}, run.Options{
			Parts: []run.Part{run.Crash}, Crashes: []recipe.Kind{recipe.CrashBeforeSend, recipe.CrashAfterCommit},
			Recipe: wanted, Scenario: life.scenario().Name, Scenarios: []scenario.Scenario{life.scenario()},
			Log: os.Stderr, LogDir: filepath.Join(directory(), "logs", "crashes"),
		})
		Expect(err).NotTo(HaveOccurred())
		report, err := engine.Run(ctx)
		Expect(err).NotTo(HaveOccurred())
		fmt.Fprintf(os.Stderr, "%s\nno crash at: %s\n", report.Summary(), strings.Join(report.Spared[life.scenario().Name], ", "))
		Expect(report.Divergences).To(BeEmpty())
		if len(wanted) == 0 {
			Expect(report.Spared[life.scenario().Name]).NotTo(ContainElement(ContainSubstring("persistentvolume")), "it died at each write of a claim and of a volume")
		}
	})
})

// overBoth returns a lane of the harness over the consumer and dc, as they are now. The harness watches all kinds
// that are sent, so both clusters get the missing ones first.
func overBoth() *world.Lane {
	GinkgoHelper()
	routes, err := manifests.GatewayAPI(ctx)
	Expect(err).NotTo(HaveOccurred())
	var both []*rig.Cluster
	for _, c := range []*testCluster{consumer, dc} {
		opened, err := clusters.Open(clusters.Options{Name: c.Name(), Dir: directory()})
		Expect(err).NotTo(HaveOccurred())
		for _, route := range routes {
			Expect(manifests.Create(ctx, c, []*unstructured.Unstructured{route.DeepCopy()})).To(Succeed())
			DeferCleanup(func() { Expect(c.Delete(ctx, route)).To(Succeed()) })
		}
		both = append(both, &rig.Cluster{Cluster: opened, ID: c.Name(), Admin: c})
	}
	lane, err := world.Over(ctx, consumerID, both[0], both[1])
	Expect(err).NotTo(HaveOccurred())
	return lane
}

// claimLife is the life of the claim of a StatefulSet with one pod.
type claimLife struct{ *team }

// starting writes a line to the volume whenever the container starts, and prints all of them.
const starting = `trap "exit 0" TERM
echo "started on $(hostname)" >>/data/starts
cat /data/starts
sleep 2147483647 & wait`

func (l *claimLife) set() *appsv1.StatefulSet {
	set := newStatefulSet(l.namespace, "db", 1, podSpec(starting))
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	return set
}

func (l *claimLife) scenario() scenario.Scenario {
	return scenario.Scenario{
		Name: "claim-on-a-real-node", Prepare: managed,
		Steps: []scenario.Step{{
			Name:  "a StatefulSet is created",
			Do:    func(ctx context.Context, w *world.World) error { return w.Create(ctx, l.set()) },
			Until: l.stores("2Mi", 1),
		}, {
			Name: "its claim asks for more",
			Do: func(ctx context.Context, w *world.World) error {
				return w.Consumer.Admin.Patch(ctx, claimOf(l.set(), 0), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"8Mi"}}}}`)))
			},
			Until: l.stores("8Mi", 1),
		}, {
			Name: "its pod is evicted in the provider",
			Do: func(ctx context.Context, _ *world.World) error {
				return dc.SubResource("eviction").Create(ctx, podOf(l.there(), 0), &policyv1.Eviction{})
			},
			Until: l.stores("8Mi", 2),
		}, {
			Name:  "the StatefulSet is deleted with its claim",
			Do:    func(ctx context.Context, w *world.World) error { return w.Consumer.Admin.Delete(ctx, l.set()) },
			Until: l.ended,
		}},
	}
}

// there returns the set with the namespace in the provider, for the names of what is there.
func (l *claimLife) there() *appsv1.StatefulSet {
	set := l.set()
	set.Namespace = l.remote
	return set
}

// stores wants the pod to be Ready with a volume of that size, on which a container has started that many times. The
// claim in the provider stays the same, and there is no other volume.
func (l *claimLife) stores(size string, starts int) scenario.Func {
	return func(_ context.Context, w *world.World) error {
		local, err := present(consumer.claim(claimOf(l.set(), 0)))
		if err != nil {
			return err
		}
		remote, err := present(dc.claim(claimOf(l.there(), 0)))
		if err != nil {
			return err
		}
		here, err := present(consumer.volume(field.VolumeName(dc.Name(), local.UID)))
		if err != nil {
			return err
		}
		there, err := dc.storedVolumes()
		if err != nil {
			return err
		}
		pod, err := present(consumer.pod(podOf(l.set(), 0)))
		if err != nil {
			return err
		}
		log, err := dc.logs(podOf(l.there(), 0))()
		if err != nil {
			return err
		}
		if w.Notes["claim"] == "" {
			w.Notes["claim"] = string(remote.UID)
		}
		wants := ""
		for _, quantity := range []corev1.ResourceList{here.Spec.Capacity, local.Status.Capacity, remote.Status.Capacity} {
			if is := quantity.Storage().String(); is != size {
				wants = fmt.Sprintf("the size %s is not %s yet", is, size)
			}
		}
		switch {
		case wants != "":
		case local.Status.Phase != corev1.ClaimBound || local.Spec.VolumeName != here.Name:
			wants = fmt.Sprintf("the claim is %s, and its volume is %q", local.Status.Phase, local.Spec.VolumeName)
		case string(remote.UID) != w.Notes["claim"] || here.Spec.CSI.VolumeHandle != w.Notes["claim"]:
			wants = fmt.Sprintf("the claim in the provider was %s, is %s, and the volume stands for %s", w.Notes["claim"], remote.UID, here.Spec.CSI.VolumeHandle)
		case len(there) != 1 || there[0].Name != remote.Spec.VolumeName:
			wants = fmt.Sprintf("there are %d volumes in the provider", len(there))
		case strings.Count(log, "\n") != starts || !field.IsReady(pod):
			wants = fmt.Sprintf("the pod is not Ready with %d lines in its volume: %q", starts, log)
		}
		if wants != "" {
			return errors.New(wants)
		}
		return nil
	}
}

// ended wants nothing to be left of the set in either cluster.
func (l *claimLife) ended(ctx context.Context, w *world.World) error {
	for namespace, c := range map[string]*testCluster{l.namespace: consumer, l.remote: dc} {
		var pods corev1.PodList
		var claims corev1.PersistentVolumeClaimList
		stored, err := c.storedVolumes()
		if err := errors.Join(err, c.List(ctx, &pods, client.InNamespace(namespace)), c.List(ctx, &claims, client.InNamespace(namespace))); err != nil {
			return err
		}
		if len(pods.Items)+len(claims.Items)+len(stored) > 0 {
			return fmt.Errorf("in %s there are %d pods, %d claims and %d volumes", c.Name(), len(pods.Items), len(claims.Items), len(stored))
		}
	}
	return nil
}

// managed waits until the manager is connected to all providers: it then renews the Leases of the virtual nodes.
func managed(ctx context.Context, _ *world.World) error {
	began := time.Now()
	return rig.Eventually(ctx, patience, func(context.Context) error {
		for _, provider := range providers() {
			lease, err := present(read(consumer, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
				Namespace: corev1.NamespaceNodeLease, Name: virtualNode(provider.Name()),
			}}, &coordinationv1.Lease{}))
			if err != nil {
				return err
			}
			if renewed := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}); !renewed.After(began) {
				return fmt.Errorf("no manager has renewed the Lease %s", lease.Name)
			}
		}
		return nil
	})
}

// present calls what read returns, and returns an error for an object that does not exist.
func present[T any](read func() (*T, error)) (*T, error) {
	object, err := read()
	if err == nil && object == nil {
		err = fmt.Errorf("there is no such %T", object)
	}
	return object, err
}
