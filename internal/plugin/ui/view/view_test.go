package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func pod(namespace, name, node string, phase corev1.PodPhase) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: "1", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute)),
	}}
	p.Spec.NodeName, p.Status.Phase = node, phase
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}}
	p.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}}
	return p
}

// sample has a provider with two namespaces, and a pod that waits although it may use two tiers of three.
func sample() Objects {
	binding := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}
	binding.Status.Conditions = []metav1.Condition{conditions.New("Ready", "False", "Unreachable", "no answer"), conditions.New("Connected", "False", "Unreachable", "no answer")}
	binding.Status.LastHeartbeatTime = &metav1.Time{Time: time.Unix(0, 0)}
	binding.Status.Quota = []v1alpha1.QuotaStatus{{
		Name: "all", Hard: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10")}, Used: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
	}}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "spillway-eu", Labels: map[string]string{v1alpha1.LabelCluster: "eu", v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10")}
	nso := v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "offloading", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	nso.Spec.PodOffloadingStrategy = v1alpha1.PodsLocalAndRemote
	nso.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}, {}, {After: &metav1.Duration{Duration: time.Minute}}}
	nso.Status.Overflow = []v1alpha1.OverflowTierStatus{{}, {Clusters: []string{"eu"}}, {Clusters: []string{"us"}}}
	nso.Status.Conditions = []metav1.Condition{conditions.New("Ready", "True", "Ready", "")}
	stuck := pod("team-a", "stuck", "", corev1.PodPending)
	stuck.Spec.Tolerations[0].Operator, stuck.Spec.Tolerations[0].Value = corev1.TolerationOpEqual, "eu"
	stuck.Annotations = map[string]string{v1alpha1.AnnotationOverflow: "1=2026-11-28T11:59:30Z"}
	stuck.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}
	return Objects{
		Now: now, Bindings: []v1alpha1.ClusterBinding{binding}, Nodes: []corev1.Node{node}, Offloadings: []v1alpha1.NamespaceOffloading{nso},
		Pods: []corev1.Pod{
			pod("team-a", "here", "worker", corev1.PodRunning), pod("team-a", "there", "spillway-eu", corev1.PodRunning), stuck,
			pod("team-a", "over", "spillway-eu", corev1.PodFailed), pod("team-b", "done", "spillway-eu", corev1.PodSucceeded), pod("other", "x", "worker", corev1.PodRunning),
		},
		Events: []corev1.Event{{
			InvolvedObject: corev1.ObjectReference{UID: "stuck"}, Reason: v1alpha1.ReasonTierOpened, Message: "tier 1: eu", ReportingController: "spillway-unscheduledpod",
		}},
	}
}

func TestPage(t *testing.T) {
	page := Of(sample()).Page
	if want := (Counts{Runs: 2, Waits: 1, Failed: 1, Succeeded: 1}); page.Pods != want {
		t.Errorf("pods %+v", page.Pods)
	}
	if len(page.Providers) != 1 {
		t.Fatalf("providers %+v", page.Providers)
	}
	eu := page.Providers[0]
	if eu.Ready || eu.Reason != "Unreachable" || eu.Waits[0].Message != "no answer" || len(eu.Conditions) != 2 || eu.LastKnown != "1970-01-01T00:00:00Z" {
		t.Errorf("eu %+v", eu)
	}
	if want := []string{"all: 500m of 10 cpu"}; !cmp.Equal(eu.Quota, want) {
		t.Errorf("quota %v", eu.Quota)
	}
	// Of the requests, that of the pod that runs counts: the others have ended.
	if want := []Use{{"cpu", "500m", "4", 13}, {"pods", "1", "10", 10}}; !cmp.Equal(eu.Nodes[0].Resources, want) {
		t.Errorf("resources %+v", eu.Nodes[0].Resources)
	}
	if eu.Namespaces[0].Name != "team-a" || eu.Namespaces[0].Pods != (Counts{Runs: 1, Failed: 1}) || !eu.Namespaces[1].NotOffloaded || eu.Namespaces[1].Pods != (Counts{Succeeded: 1}) {
		t.Errorf("namespaces %+v", eu.Namespaces)
	}
	if want := []Namespace{{Name: "team-a", Ready: true, Pods: Counts{Runs: 1}}}; !cmp.Equal(page.Local, want) {
		t.Errorf("here %+v", page.Local)
	}
	if len(page.Unplaced) != 1 || page.Unplaced[0].Pods != (Counts{Waits: 1}) {
		t.Errorf("without a node %+v", page.Unplaced)
	}
	want := map[string][]tiers.Tier{"team-a": {{Number: 0, Places: []string{Here}}, {Number: 1, Places: []string{"eu"}}, {Number: 2, Places: []string{"us"}, After: "1m0s"}}}
	if diff := cmp.Diff(want, page.Tiers); diff != "" {
		t.Error(diff)
	}
	places := map[string]map[string]int{"team-a": {Here: 1, "eu": 1, Nowhere: 1}}
	if diff := cmp.Diff(places, Of(sample()).Places); diff != "" {
		t.Error(diff)
	}
}

// TestWaits: the words are those of the command explain, and the tiers say when they were opened.
func TestWaits(t *testing.T) {
	objects := sample()
	s := Of(objects)
	list := s.List(Filter{State: "waits"})
	if list.Total != 1 || list.Rows[0].Pod != "stuck" {
		t.Fatalf("rows %+v", list)
	}
	pod := objects.Pods[2]
	told := explain.Explain(explain.Seen{Pod: &pod, Offloading: &objects.Offloadings[0], Events: objects.Events, Now: now})
	if !cmp.Equal(list.Rows[0].Waits, told.Waits) || !strings.Contains(fmt.Sprint(told.Waits), "0/3 nodes are available") {
		t.Errorf("waits %+v, explain says %+v", list.Rows[0].Waits, told.Waits)
	}
	want := []tiers.Tier{
		{Number: 0, Places: []string{Here}, Open: true, First: true, Why: "the scheduler found no room"}, {Number: 1, Places: []string{"eu"}, Open: true, At: "2026-11-28T11:59:30Z"},
		{Number: 2, Places: []string{"us"}, After: "1m0s"},
	}
	if diff := cmp.Diff(want, list.Rows[0].Tiers); diff != "" {
		t.Error(diff)
	}
	before := s.Version("team-a", "stuck")
	objects.Pods[2].ResourceVersion = "2"
	if after := Of(objects).Version("team-a", "stuck"); before == after || s.Version("team-a", "nobody") != "" {
		t.Errorf("versions %s and %s", before, after)
	}
}

func TestHidden(t *testing.T) {
	objects := sample()
	objects.Bindings, objects.Nodes, objects.Hidden = nil, nil, []string{status.Bindings, status.Nodes}
	page := Of(objects).Page
	if len(page.Providers) != 1 || page.Providers[0].ID != "eu" || page.Providers[0].Name != "" || len(page.Providers[0].Nodes) != 0 {
		t.Errorf("providers %+v", page.Providers)
	}
	if page.Providers[0].Pods != (Counts{Runs: 1, Failed: 1, Succeeded: 1}) || len(page.Unplaced) != 1 {
		t.Errorf("pods %+v, without a node %+v", page.Providers[0].Pods, page.Unplaced)
	}
	if empty := Of(Objects{Now: now}).Page; empty.Providers == nil || empty.Local == nil || empty.Unplaced == nil {
		t.Errorf("lists of an empty page are null: %+v", empty)
	}
}

// TestManyPods: the page does not grow with the pods, and the list has pages.
func TestManyPods(t *testing.T) {
	objects := sample()
	small := len(fmt.Sprint(Of(objects).Page))
	const many = 5000
	for i := range many {
		p := pod("team-a", fmt.Sprintf("web-%04d", i), "", corev1.PodPending)
		p.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(i) * time.Second))
		objects.Pods = append(objects.Pods, p)
	}
	s := Of(objects)
	if grown := len(fmt.Sprint(s.Page)); grown > small+50 {
		t.Errorf("the page has grown from %d to %d bytes", small, grown)
	}
	for from, first := range map[int]string{0: "stuck", 1: "web-0000", 100: "web-0099", many: "web-4999", many + 1: "", -5: "stuck"} {
		list := s.List(Filter{Namespace: "team-a", Place: "none", From: from})
		got := ""
		if len(list.Rows) > 0 {
			got = list.Rows[0].Pod
		}
		if got != first || list.Total != many+1 || len(list.Rows) > MostRows {
			t.Errorf("from %d: %s, %d rows of %d", from, got, len(list.Rows), list.Total)
		}
	}
	for want, filter := range map[int]Filter{1: {Name: "web-4999"}, 3: {Place: "eu"}, 0: {Namespace: "team-z"}, 2: {State: "runs"}} {
		if got := s.List(filter).Total; got != want {
			t.Errorf("%+v chooses %d", filter, got)
		}
	}
}

func TestHistory(t *testing.T) {
	h := &History{}
	counts := func(n int) map[string]map[string]int {
		return map[string]map[string]int{"a": {"eu": n}, "b": {"eu": 1}}
	}
	h.Add(now, counts(1))
	h.Add(now.Add(time.Second), counts(1))
	h.Add(now.Add(2*time.Second), counts(2))
	h.Pause(now.Add(3 * time.Second))
	h.Pause(now.Add(4 * time.Second))
	h.Add(now.Add(5*time.Second), counts(2))
	want := []Sample{
		{At: now, Places: map[string]map[string]int{"": {"eu": 2}, "a": {"eu": 1}, "b": {"eu": 1}}},
		{At: now.Add(2 * time.Second), Places: map[string]map[string]int{"": {"eu": 3}, "a": {"eu": 2}, "b": {"eu": 1}}},
		{At: now.Add(3 * time.Second), Gap: true},
		{At: now.Add(5 * time.Second), Places: map[string]map[string]int{"": {"eu": 3}, "a": {"eu": 2}, "b": {"eu": 1}}},
	}
	if diff := cmp.Diff(want, h.Samples); diff != "" {
		t.Error(diff)
	}
	// However long it runs, it goes back to the beginning, and has the present.
	for i := range 20 * mostSamples {
		h.Add(now.Add(time.Duration(10+i)*time.Second), counts(i))
	}
	last := h.Samples[len(h.Samples)-1]
	if len(h.Samples) > mostSamples || !h.Samples[0].At.Equal(now) || last.Places["a"]["eu"] != 20*mostSamples-1 || h.Revision == 0 {
		t.Errorf("%d samples from %s, the last with %v", len(h.Samples), h.Samples[0].At, last.Places)
	}
	before := h.Revision
	if h.Forget(); len(h.Samples) > 0 || h.Revision == before {
		t.Errorf("it still has %d samples of revision %d", len(h.Samples), h.Revision)
	}
	wide := map[string]map[string]int{}
	for i := range 10 * mostNamespaces {
		wide[fmt.Sprintf("n%03d", i)] = map[string]int{Here: i + 1}
	}
	if kept := bounded(wide); len(kept) != mostNamespaces+1 || kept["n399"] == nil || kept["n000"] != nil || kept[""][Here] != 400*401/2 {
		t.Errorf("%d namespaces are kept", len(kept))
	}
}
