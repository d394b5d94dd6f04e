package plugin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

// spills takes a pod through three tiers: the consumer, which has no node; one without a provider; and eu, whose quota
// refuses it at first. status and explain must say each time which tiers were tried, when, and why the pod is where it is.
func spills(t *testing.T) {
	second := &metav1.Duration{Duration: time.Second}
	nowhere := &v1alpha1.TierSelector{NodeSelectorTerms: []v1alpha1.TierSelectorTerm{{MatchExpressions: []v1alpha1.ClusterSelectorRequirement{
		{Key: corev1.LabelTopologyRegion, Operator: corev1.NodeSelectorOpIn, Values: []string{"nowhere"}},
	}}}}
	nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: v1alpha1.OffloadingName}, Spec: v1alpha1.NamespaceOffloadingSpec{
		PodOffloadingStrategy: v1alpha1.PodsLocalAndRemote, Unschedulable: &v1alpha1.Unschedulable{After: second},
		Overflow: []v1alpha1.OverflowTier{{Local: true}, {After: second, ClusterSelector: nowhere}, {After: second, ClusterSelector: &v1alpha1.TierSelector{}}},
	}}
	labels := map[string]string{"app": "web"}
	web := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1), Containers: []corev1.Container{{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("2")},
			}}},
		}},
	}}
	creates(t, inConsumer, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, nso)
	eventually(t, "the namespace is in eu", func() bool {
		return inProvider.Get(t.Context(), client.ObjectKey{Name: "shop-home"}, &corev1.Namespace{}) == nil
	})
	few := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop-home", Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("0")}}}
	creates(t, inProvider, few)
	eventually(t, "the quota is known", func() bool { return len(get(t, inProvider, few).Status.Hard) == 1 })
	creates(t, inConsumer, web)
	eventually(t, "eu is left out", func() bool { return len(get(t, inConsumer, nso).Status.Full) == 1 })
	eventually(t, "another pod waits", func() bool {
		pod := shown(t)
		return pod.tiers[0].First && !pod.tiers[2].Open && strings.Contains(pod.tiers[2].Why, "exceeded quota") && pod.place == "waits"
	})
	shown(t).text(t)
	if err := inProvider.Delete(t.Context(), few); err != nil {
		t.Fatal(err)
	}
	for _, action := range []v1alpha1.UnschedulableAction{v1alpha1.UnschedulableWait, v1alpha1.UnschedulableReplace} { // It forgets that eu was full.
		before := get(t, inConsumer, nso).DeepCopy()
		nso.Spec.Unschedulable.Action = action
		if err := inConsumer.Patch(t.Context(), nso, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the manager has seen the action", func() bool { return get(t, inConsumer, nso).Status.ObservedGeneration == nso.Generation })
	}
	eventually(t, "the pod runs in eu", func() bool { return shown(t).place == "runs in eu" })
	pod := shown(t)
	pod.text(t)
	here, skipped, eu := pod.tiers[0], pod.tiers[1], pod.tiers[2]
	if !here.First || !strings.Contains(here.Why, "nodes are available") || skipped.String() != "tier 1 (no provider), skipped" {
		t.Errorf("of the tiers before, it says %q and %q", here, skipped)
	}
	if at, err := time.Parse(time.RFC3339, eu.At); err != nil || time.Since(at) > patience || !eu.HasPod || eu.Name() != "tier 2 (eu)" {
		t.Errorf("of the last tier, it says %q (%v)", eu, err)
	}
}

func creates(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// said is what explain says about the pod of namespace shop, which status must say as well.
type said struct {
	name, place string
	tiers       []tiers.Tier
}

// shown returns what is said about the newest pod of namespace shop.
func shown(t *testing.T) said {
	t.Helper()
	pods, newest := &corev1.PodList{}, &corev1.Pod{}
	if err := inConsumer.List(t.Context(), pods, client.InNamespace("shop")); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp.IsZero() {
			newest = &pods.Items[i]
		}
	}
	all := said{name: newest.Name, tiers: make([]tiers.Tier, 3)}
	if newest.Name == "" {
		return all
	}
	var e explain.Explanation
	var tree status.Status
	out, err := spillway(t, "explain", newest.Name, "-n", "shop", "-o", "json")
	if err != nil {
		return all // It has just been replaced.
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatal(err)
	}
	decode(t, &tree, "status", "-n", "shop", "-o", "json")
	all.tiers = e.Tiers
	for _, namespace := range tree.Unplaced {
		if len(namespace.Pods) == 1 && sameTiers(namespace.Pods[0].Tiers, e.Tiers) {
			all.place = "waits"
		}
	}
	for _, namespace := range tree.Bindings[0].Namespaces {
		if len(namespace.Pods) == 1 && namespace.Pods[0].Runs && *namespace.Tier == 2 && sameTiers(namespace.Pods[0].Tiers, e.Tiers) {
			all.place = "runs in " + e.Provider
		}
	}
	return all
}

// sameTiers compares since when tiers are open. status does not read all events about a pod.
func sameTiers(a, b []tiers.Tier) bool {
	return slices.EqualFunc(a, b, func(a, b tiers.Tier) bool {
		return a.Name() == b.Name() && a.Open == b.Open && a.At == b.At && a.HasPod == b.HasPod
	})
}

// text runs the commands as people do.
func (s said) text(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"status", "--pods"}, {"explain", s.name}} {
		out, err := spillway(t, append(args, "-n", "shop")...)
		if err != nil || !strings.Contains(out, "tier 0 (this cluster)") || !strings.Contains(out, "tier 2 (eu)") {
			t.Errorf("kubectl spillway %v does not name the tiers (%v)", args, err)
		}
	}
}
