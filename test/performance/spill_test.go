//go:build bench

package performance

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
	"github.com/spillway-io/spillway/test/order"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// TestSpill fills three tiers with the pods of one ReplicaSet, all created at once, and empties them in steps. A
// real scheduler places them, and waits a second for each tier. With -short it takes a tenth of the pods.
func TestSpill(t *testing.T) {
	size := 10
	if testing.Short() {
		size = 1
	}
	rooms, load := []int{50 * size, 75 * size, 80 * size}, []int{200 * size, 160 * size, 120 * size, 70 * size, 40 * size, 0}
	s := startSpill(t, rooms)
	log := s.watchTiers(t)
	log.Rooms(rooms)
	set := s.replicaSet(t)

	before, cpu := s.figures(t), s.used(t)
	s.say("creating %d pods for tiers with room for %v", load[0], rooms)
	s.ask(t, log, set, load[0])
	s.quiet(t)
	up := spilledFrom(log.Events(), len(rooms))
	s.say("all are Ready: %v", up.in)
	figures := append(up.figures(s.figures(t).Since(before)), measured("CPU of the manager, ms a pod", "%.2f", 1000*(s.used(t)-cpu)/float64(load[0])))
	s.say("requests:\n%s", requestsOf(s.figures(t).Since(before), load[0]))

	began := time.Now()
	for _, pods := range load[1:] {
		s.ask(t, log, set, pods)
		s.say("%d pods are left", pods)
	}
	figures = append(figures, measured("seconds until all are deleted, step by step", "%.1f", time.Since(began).Seconds()))
	violations := order.Violations(log.Events())
	for _, violation := range violations[:min(10, len(violations))] {
		t.Log(violation)
	}
	figures = append(figures, count("pods that have not kept to the order, up or down", len(violations)).exactly(0))
	show(t, fmt.Sprintf("%d pods in three tiers", load[0]), column{"", figures})
}

// startSpill starts the clusters and the manager, and offloads a namespace with a local tier and one for each of two
// providers. Each has so much room.
func startSpill(t *testing.T, rooms []int) *site {
	s := upSite(t, rig.Options{Name: "spill", Providers: providers[:2], Nodes: 1, Scheduler: true, OwnPods: rooms[0]})
	must(t, s.Bind(t.Context()))
	for i, provider := range s.Providers {
		binding := &v1alpha1.ClusterBinding{}
		must(t, s.Consumer.Admin.Get(t.Context(), client.ObjectKey{Name: provider.ID}, binding))
		binding.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{corev1.ResourcePods: intstr.FromInt(rooms[i+1])}
		must(t, s.Consumer.Admin.Update(t.Context(), binding))
	}
	s.start(t)
	must(t, rig.Eventually(t.Context(), patience, s.Bound))
	must(t, s.Consumer.Admin.Create(t.Context(), rig.Namespace(0)))
	nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(0).GetName(), Name: v1alpha1.OffloadingName}}
	nso.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}}
	for _, provider := range s.Providers {
		tier := builder.Tier([]v1alpha1.ClusterSelectorRequirement{builder.Requirement(v1alpha1.LabelCluster, corev1.NodeSelectorOpIn, provider.ID)})
		tier.After = &metav1.Duration{Duration: time.Second}
		nso.Spec.Overflow = append(nso.Spec.Overflow, tier)
	}
	must(t, s.Consumer.Admin.Create(t.Context(), nso))
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error { return s.offloaded(ctx, 1) }))
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error { return s.rooms(ctx, rooms[1:]) }))
	return s
}

// rooms returns an error until the virtual nodes show so much room.
func (s *site) rooms(ctx context.Context, rooms []int) error {
	for i, provider := range s.Providers {
		node := &corev1.Node{}
		if err := s.Consumer.Watched.Get(ctx, client.ObjectKey{Name: v1alpha1.VirtualNodePrefix + provider.ID}, node); err != nil {
			return err
		}
		if pods := node.Status.Allocatable.Pods().Value(); int(pods) != rooms[i] {
			return fmt.Errorf("node %s has room for %d pods, want %d", node.Name, pods, rooms[i])
		}
	}
	return nil
}

func (s *site) watchTiers(t *testing.T) *order.Log {
	tiers := map[string]int{rig.OwnNode: 0}
	for i, provider := range s.Providers {
		tiers[v1alpha1.VirtualNodePrefix+provider.ID] = i + 1
	}
	log, err := order.Watch(t.Context(), clientset(t, s.Consumer), rig.Namespace(0).GetName(), func(node string) int { return tiers[node] })
	must(t, err)
	return log
}

// replicaSet creates a ReplicaSet without pods.
func (s *site) replicaSet(t *testing.T) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(0).GetName(), Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/web:1.2.3",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
			}}}},
		},
	}
	must(t, s.Consumer.Admin.Create(t.Context(), set))
	return set
}

// ask asks for so many pods, and waits until there are as many, all Ready.
func (s *site) ask(t *testing.T, log *order.Log, set *appsv1.ReplicaSet, pods int) {
	log.Ask(pods, "")
	before := set.DeepCopy()
	set.Spec.Replicas = ptr.To(int32(pods)) //nolint:gosec // There are some thousands.
	must(t, s.Consumer.Admin.Patch(t.Context(), set, client.MergeFrom(before)))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, log.Await(ctx, 1+len(s.Providers), order.Settled(pods)))
}

// quiet waits until the manager has nothing left to do.
func (s *site) quiet(t *testing.T) {
	must(t, rig.Eventually(t.Context(), patience, func(context.Context) error {
		if since := time.Since(s.lastWork(t)); since < quiet {
			return fmt.Errorf("the manager was at work %s ago", since.Round(time.Second))
		}
		return nil
	}))
}
