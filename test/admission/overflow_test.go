package admission

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func tolerateCluster(id string) corev1.Toleration {
	return corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpEqual, Value: id, Effect: corev1.TaintEffectNoSchedule}
}

// refusing is a provider that has refused pods, and that is left out, or was.
func refusing(id string, leftOut bool) v1alpha1.FullProvider {
	f := v1alpha1.FullProvider{Cluster: id, Refusals: 1, LastRefusal: metav1.NewTime(builder.Epoch)}
	if leftOut {
		f.Until = &metav1.Time{Time: builder.Epoch.Add(time.Minute)}
	}
	return f
}

// TestOverflow creates pods in namespaces with spec.overflow. They get the tolerations of the first tier only, and an
// affinity that allows all tiers, because it can never change. The policy and the webhook must agree.
func TestOverflow(t *testing.T) {
	needsNoManager(t)
	in := func(r corev1.NodeSelectorRequirement) v1alpha1.OverflowTier {
		return builder.Tier([]v1alpha1.ClusterSelectorRequirement{builder.Requirement(r.Key, r.Operator, r.Values...)})
	}
	both := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{
		PodOffloadingStrategy: v1alpha1.PodsLocalAndRemote, Overflow: []v1alpha1.OverflowTier{{Local: true}, in(eu), in(us)}}}
	remote := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{
		PodOffloadingStrategy: v1alpha1.PodsRemote, Overflow: []v1alpha1.OverflowTier{in(arm), in(eu), builder.Tier()}}}
	stale, many, full, fullest, waits := remote.DeepCopy(), remote.DeepCopy(), remote.DeepCopy(), remote.DeepCopy(), remote.DeepCopy()
	full.Spec.Unschedulable, fullest.Spec.Unschedulable = &v1alpha1.Unschedulable{}, &v1alpha1.Unschedulable{}
	waits.Spec.Unschedulable = &v1alpha1.Unschedulable{Action: v1alpha1.UnschedulableWait}
	var ids []string
	var tolerations []corev1.Toleration
	for n := range 256 { // As many as the status may list.
		ids = append(ids, fmt.Sprintf("provider-%03d", n))
		tolerations = append(tolerations, tolerateCluster(ids[n]))
	}
	for _, offloading := range []*v1alpha1.NamespaceOffloading{both, remote, stale, many, full, fullest, waits} {
		offloading.Namespace, offloading.Name = namespaceOf(t, nil), v1alpha1.OffloadingName
		made(t, offloading)
		before := offloading.DeepCopy()
		offloading.Status.Overflow = []v1alpha1.OverflowTierStatus{{}, {Clusters: []string{"eu", "eu2"}}, {Clusters: []string{"us"}}}
		switch offloading {
		case many:
			offloading.Status.Overflow = []v1alpha1.OverflowTierStatus{{Clusters: ids}}
		case full, waits:
			offloading.Status.Full = []v1alpha1.FullProvider{refusing("eu", true), refusing("eu2", false)}
		case fullest: // As many as the status may list.
			for range 30 {
				offloading.Status.Full = append(offloading.Status.Full, refusing("eu", true))
			}
			offloading.Status.Full = append(offloading.Status.Full, refusing("eu", false), refusing("eu2", true))
		}
		if offloading.Status.ObservedGeneration = offloading.Generation; offloading == stale {
			offloading.Status.ObservedGeneration = offloading.Generation + 1
		}
		if err := server(t).Status().Patch(t.Context(), offloading, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	create(t, server(t), func(pods []*corev1.Pod) bool {
		return pods[0].Spec.Affinity != nil && len(ownTolerations(pods[1])) == 2
	}, both.Namespace, remote.Namespace)
	for name, test := range map[string]struct {
		in     *v1alpha1.NamespaceOffloading
		change func(*corev1.Pod)
		want   []corev1.Toleration
		at     *corev1.Affinity
	}{
		"local first":                {both, nil, nil, required(labels(virtual, eu), labels(virtual, us), labels(local))},
		"local first, tolerates one": {both, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{tolerateCluster("us")} }, []corev1.Toleration{tolerateCluster("us")}, required(labels(virtual, eu), labels(virtual, us), labels(local))},
		"never sent":                 {both, func(p *corev1.Pod) { p.Spec.HostNetwork = true }, nil, nil},
		"Remote":                     {remote, nil, []corev1.Toleration{tolerateCluster("eu"), tolerateCluster("eu2")}, required(labels(virtual))},
		"Remote, tolerates one":      {remote, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{tolerateCluster("eu")} }, []corev1.Toleration{tolerateCluster("eu"), tolerateCluster("eu2")}, required(labels(virtual))},
		"Remote, tolerates all":      {remote, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{tolerateAll} }, []corev1.Toleration{tolerateAll}, required(labels(virtual))},
		"Remote, earlier status":     {stale, nil, nil, required(labels(virtual))},
		"Remote, one is full":        {full, nil, []corev1.Toleration{tolerateCluster("eu2")}, required(labels(virtual))},
		"Remote, full, and waits":    {waits, nil, []corev1.Toleration{tolerateCluster("eu"), tolerateCluster("eu2")}, required(labels(virtual))},
		"Remote, the first are full": {fullest, nil, nil, required(labels(virtual))},
		"Remote, full, tolerated":    {full, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{tolerateCluster("eu")} }, []corev1.Toleration{tolerateCluster("eu"), tolerateCluster("eu2")}, required(labels(virtual))},
		"Remote, many providers":     {many, nil, tolerations, required(labels(virtual))},
		"Remote, tolerates some":     {many, func(p *corev1.Pod) { p.Spec.Tolerations = slices.Clone(tolerations[:200]) }, tolerations, required(labels(virtual))},
		"of a DaemonSet": {remote, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "1"}}
		}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod(test.in.Namespace)
			if test.change != nil {
				test.change(pod)
			}
			byWebhook := pod.DeepCopy()
			admission.Decide(byWebhook, test.in).Apply(byWebhook)
			if err := server(t).Create(t.Context(), pod, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			for by, pod := range map[string]*corev1.Pod{"policy": pod, "webhook": byWebhook} {
				got := ownTolerations(pod)
				if name == "Remote, tolerates all" { // Kubernetes adds none to such a pod.
					got = pod.Spec.Tolerations
				}
				if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()) + cmp.Diff(test.at, pod.Spec.Affinity); diff != "" {
					t.Errorf("by the %s (-want +got):\n%s", by, diff)
				}
			}
		})
	}
}
