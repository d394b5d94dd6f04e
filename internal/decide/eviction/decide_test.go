package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

type podOption func(*corev1.Pod)

func pod(options ...podOption) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	for _, option := range options {
		option(p)
	}
	return p
}

func phase(phase corev1.PodPhase) podOption { return func(p *corev1.Pod) { p.Status.Phase = phase } }

func deleted(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(builder.Epoch)) }

func of(kind string) podOption {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner", Controller: ptr.To(true)}}
	}
}

// newer sets a policy that only a newer version knows.
func newer(binding *v1alpha1.ClusterBinding) *v1alpha1.ClusterBinding {
	binding.Spec.DeletionPolicy = "Keep"
	return binding
}

func TestDecide(t *testing.T) {
	eu := func() *builder.BindingBuilder { return builder.Binding("eu").Label("region", "eu").Connected() }
	draining := func() *builder.BindingBuilder { return eu().Deleted(0) }
	team := func() *builder.OffloadingBuilder { return builder.Offloading("team") }
	elsewhere := func() *builder.OffloadingBuilder {
		return team().Selector(builder.Requirement("region", corev1.NodeSelectorOpIn, "us"))
	}
	mapped := builder.Map("eu").Desired("team", "team-c").Obj()
	others := builder.Map("eu").Desired("other", "other-c").Obj()
	tests := map[string]struct {
		snapshot Snapshot
		want     Cause
	}{
		"all is well":                       {Snapshot{Binding: eu().Obj(), Offloading: team().Obj(), NamespaceMap: mapped}, Stays},
		"all is well, and it is cordoned":   {Snapshot{Binding: eu().Obj(), Cordoned: true, Offloading: team().Obj(), NamespaceMap: mapped}, Stays},
		"in the mount namespace":            {Snapshot{Binding: eu().Obj(), NamespaceMap: others}, Stays},
		"drained":                           {Snapshot{Binding: draining().Obj(), Cordoned: true, Offloading: team().Obj(), NamespaceMap: mapped}, BindingDeleted},
		"drained, by a newer version":       {Snapshot{Binding: newer(draining().Obj()), Cordoned: true, Offloading: team().Obj(), NamespaceMap: mapped}, Stays},
		"drained, in the mount namespace":   {Snapshot{Binding: draining().Obj(), Cordoned: true}, BindingDeleted},
		"drained, not cordoned yet":         {Snapshot{Binding: draining().Obj(), Offloading: team().Obj()}, Stays},
		"drained, and it has ended":         {Snapshot{Pod: pod(phase(corev1.PodSucceeded)), Binding: draining().Obj(), Cordoned: true}, BindingDeleted},
		"drained, and paused":               {Snapshot{Binding: draining().Paused().Obj(), Cordoned: true}, Stays},
		"orphaned":                          {Snapshot{Binding: draining().Orphan().Obj(), Cordoned: true, Offloading: team().Obj()}, Stays},
		"orphaned, and not offloaded now":   {Snapshot{Binding: draining().Orphan().Obj(), Cordoned: true, Offloading: team().Deleted(0).Obj()}, Stays},
		"going already":                     {Snapshot{Pod: pod(deleted), Binding: draining().Obj(), Cordoned: true}, Stays},
		"of a DaemonSet":                    {Snapshot{Pod: pod(of("DaemonSet")), Binding: draining().Obj(), Cordoned: true}, Stays},
		"of a ReplicaSet":                   {Snapshot{Pod: pod(of("ReplicaSet")), Binding: draining().Obj(), Cordoned: true}, BindingDeleted},
		"its namespace is going":            {Snapshot{Binding: draining().Obj(), Cordoned: true, NamespaceTerminating: true}, Stays},
		"its group is empty":                {Snapshot{Binding: eu().Obj(), Cordoned: true, GroupEmpty: true, Offloading: team().Obj(), NamespaceMap: mapped}, GroupEmpty},
		"its group, in the mount namespace": {Snapshot{Binding: eu().Obj(), Cordoned: true, GroupEmpty: true}, GroupEmpty},
		"its group, and it has ended":       {Snapshot{Pod: pod(phase(corev1.PodSucceeded)), Binding: eu().Obj(), Cordoned: true, GroupEmpty: true, Offloading: team().Obj(), NamespaceMap: mapped}, Stays},
		"its group, and it is Ready": {Snapshot{Pod: pod(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}), Binding: eu().Obj(), Cordoned: true, GroupEmpty: true, Offloading: team().Obj(), NamespaceMap: mapped}, Stays},
		"its group, and paused":            {Snapshot{Binding: eu().Paused().Obj(), Cordoned: true, GroupEmpty: true}, Stays},
		"its offloading is going":          {Snapshot{Binding: eu().Obj(), Offloading: team().Deleted(0).Obj(), NamespaceMap: mapped}, OffloadingDeleted},
		"its offloading, and it was never": {Snapshot{Binding: eu().Obj(), Offloading: elsewhere().Deleted(0).Obj()}, OffloadingDeleted},
		"its offloading, and it has ended": {Snapshot{Pod: pod(phase(corev1.PodFailed)), Binding: eu().Obj(), Offloading: team().Deleted(0).Obj()}, Stays},
		"its offloading, and it waits":     {Snapshot{Pod: pod(phase(corev1.PodPending)), Binding: eu().Obj(), Offloading: team().Deleted(0).Obj()}, OffloadingDeleted},
		"its offloading, paused":           {Snapshot{Binding: eu().Paused().Obj(), Offloading: team().Deleted(0).Obj()}, Stays},
		"not selected any more":            {Snapshot{Binding: eu().Obj(), Offloading: elsewhere().Obj(), NamespaceMap: mapped}, NotSelected},
		"not selected, and it has ended":   {Snapshot{Pod: pod(phase(corev1.PodSucceeded)), Binding: eu().Obj(), Offloading: elsewhere().Obj(), NamespaceMap: mapped}, Stays},
		"never selected":                   {Snapshot{Binding: eu().Obj(), Offloading: elsewhere().Obj(), NamespaceMap: others}, Stays},
		"never selected, and no map":       {Snapshot{Binding: eu().Obj(), Offloading: elsewhere().Obj()}, Stays},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.snapshot.Pod == nil {
				test.snapshot.Pod = pod()
			}
			if got := Decide(test.snapshot); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhatHoldsADeletion(t *testing.T) {
	offloaded := func(p *corev1.Pod) {
		p.Annotations = map[string]string{v1alpha1.AnnotationOffloadDaemonSet: v1alpha1.OffloadTrue}
	}
	tests := map[string]struct {
		pod             *corev1.Pod
		occupies, keeps bool
	}{
		"a pod":                               {pod(), true, false},
		"a pod that goes":                     {pod(deleted), true, false},
		"a pod that has ended":                {pod(phase(corev1.PodSucceeded)), false, false},
		"of a DaemonSet":                      {pod(of("DaemonSet")), false, false},
		"of a DaemonSet, in the provider":     {pod(of("DaemonSet"), offloaded), false, true},
		"of a DaemonSet, and it has ended":    {pod(of("DaemonSet"), offloaded, phase(corev1.PodFailed)), false, false},
		"a pod that only looks like such one": {pod(offloaded), true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := BlocksDeletion(test.pod); got != test.occupies {
				t.Errorf("occupies: %v", got)
			}
			if got := StaysOffloaded(test.pod); got != test.keeps {
				t.Errorf("stays offloaded: %v", got)
			}
		})
	}
}
