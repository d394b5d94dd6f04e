package tiers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// order has the tiers here, eu and us, and one without a provider between the last two.
func order() *v1alpha1.NamespaceOffloading {
	nso := &v1alpha1.NamespaceOffloading{}
	nso.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}, {}, {}, {After: &metav1.Duration{Duration: time.Minute}}}
	nso.Spec.Unschedulable = &v1alpha1.Unschedulable{}
	nso.Status.Overflow = []v1alpha1.OverflowTierStatus{{}, {Clusters: []string{"eu"}}, {}, {Clusters: []string{"us"}}}
	return nso
}

// full says that eu has refused pods that request a CPU, at noon.
func full(until *metav1.Time) func(*corev1.Pod, *v1alpha1.NamespaceOffloading) {
	return func(_ *corev1.Pod, nso *v1alpha1.NamespaceOffloading) {
		nso.Status.Full = []v1alpha1.FullProvider{{
			Cluster: "eu", LastRefusal: metav1.NewTime(noon), Refusals: 1, Until: until, Message: "exceeded quota", Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
		}}
	}
}

func TestTried(t *testing.T) {
	type change = func(*corev1.Pod, *v1alpha1.NamespaceOffloading)
	on := func(node string, after time.Duration) change {
		return func(p *corev1.Pod, _ *v1alpha1.NamespaceOffloading) {
			p.Spec.NodeName = node
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(after))}}
		}
	}
	waits := func(p *corev1.Pod, _ *v1alpha1.NamespaceOffloading) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", LastTransitionTime: metav1.NewTime(noon), ObservedGeneration: 1}}
	}
	opened := func(says string, ids ...string) change {
		return func(p *corev1.Pod, _ *v1alpha1.NamespaceOffloading) {
			p.Annotations = map[string]string{v1alpha1.AnnotationOverflow: says}
			for _, id := range ids {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Value: id})
			}
		}
	}
	const eu, us = "1=2026-11-28T12:00:10Z", "3=2026-11-28T12:01:20Z"
	remote := func(p *corev1.Pod, nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.Overflow, nso.Status.Overflow = nso.Spec.Overflow[1:], nso.Status.Overflow[1:]
		opened("", "eu")(p, nso)
	}
	unseen := func(_ *corev1.Pod, nso *v1alpha1.NamespaceOffloading) { nso.Status.Overflow = nil }
	small := func(p *corev1.Pod, _ *v1alpha1.NamespaceOffloading) { p.Spec.Containers = nil }
	daemon := func(p *corev1.Pod, _ *v1alpha1.NamespaceOffloading) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: ptr.To(true)}}
	}
	until := &metav1.Time{Time: noon.Add(time.Minute)}
	const local, kept = "tier 0 (this cluster), open from the beginning", "pods that request cpu 1 or more are kept away from eu until 2026-11-28T12:01:00Z: exceeded quota"
	const noRoom, none = ": the scheduler found no room", "tier 2 (no provider), skipped"
	for name, test := range map[string]struct {
		changes []change
		want    []string
		short   string
	}{
		"here":  {[]change{on("n", 0)}, []string{local + ": the pod is here", "tier 1 (eu), not open", "tier 2 (no provider), not open", "tier 3 (us), not open"}, ""},
		"waits": {[]change{waits}, []string{local, "tier 1 (eu), opens at 2026-11-28T12:00:10Z if there is no room before", "tier 2 (no provider), not open", "tier 3 (us), not open"}, "tried tier 0 (this cluster); not yet tier 1 (eu), tier 2 (no provider), tier 3 (us)"},
		"waits, eu is full": {[]change{waits, full(until)}, []string{local, "tier 1 (eu), not open: " + kept, "tier 2 (no provider), not open", "tier 3 (us), opens at 2026-11-28T12:01:00Z if there is no room before"},
			"tried tier 0 (this cluster); not yet tier 1 (eu), tier 2 (no provider), tier 3 (us)"},
		"in eu":                    {[]change{opened(eu, "eu"), on("spillway-eu", 0)}, []string{local + ": 0/1 nodes are available", "tier 1 (eu), opened at 2026-11-28T12:00:10Z: the pod is here", "tier 2 (no provider), not open", "tier 3 (us), not open"}, "tried tier 0 (this cluster), then tier 1 (eu) at 2026-11-28T12:00:10Z"},
		"in us, eu had no room":    {[]change{opened(eu+","+us, "eu", "us"), on("spillway-us.a", 0)}, []string{local + ": 0/1 nodes are available", "tier 1 (eu), opened at 2026-11-28T12:00:10Z: 0/2 nodes are available", none, "tier 3 (us), opened at 2026-11-28T12:01:20Z: the pod is here"}, "tried tier 0 (this cluster), then tier 1 (eu) at 2026-11-28T12:00:10Z, then tier 3 (us) at 2026-11-28T12:01:20Z; skipped tier 2 (no provider)"},
		"in us, eu was full":       {[]change{opened(us, "us"), on("spillway-us", time.Second), full(until)}, []string{local + ": 0/2 nodes are available", "tier 1 (eu), skipped: " + kept, none, "tier 3 (us), opened at 2026-11-28T12:01:20Z: the pod is here"}, "tried tier 0 (this cluster), then tier 3 (us) at 2026-11-28T12:01:20Z; skipped tier 1 (eu): " + kept + "; skipped tier 2 (no provider)"},
		"in us, eu is full since":  {[]change{opened(us, "us"), on("spillway-us", -time.Second), full(until)}, []string{local + ": 0/2 nodes are available", "tier 1 (eu), skipped: none of its providers could take the pod then", none, "tier 3 (us), opened at 2026-11-28T12:01:20Z: the pod is here"}, "tried tier 0 (this cluster), then tier 3 (us) at 2026-11-28T12:01:20Z; skipped tier 1 (eu): none of its providers could take the pod then; skipped tier 2 (no provider)"},
		"eu is full for others":    {[]change{waits, small, full(until)}, []string{local, "tier 1 (eu), opens at 2026-11-28T12:00:10Z if there is no room before", "tier 2 (no provider), not open", "tier 3 (us), not open"}, "tried tier 0 (this cluster); not yet tier 1 (eu), tier 2 (no provider), tier 3 (us)"},
		"eu was full":              {[]change{waits, full(nil)}, []string{local, "tier 1 (eu), opens at 2026-11-28T12:00:10Z if there is no room before", "tier 2 (no provider), not open", "tier 3 (us), not open"}, "tried tier 0 (this cluster); not yet tier 1 (eu), tier 2 (no provider), tier 3 (us)"},
		"here, though eu was open": {[]change{opened(eu, "eu"), on("n", 0)}, []string{local + ": the pod is here", "tier 1 (eu), opened at 2026-11-28T12:00:10Z", "tier 2 (no provider), not open", "tier 3 (us), not open"}, "tried tier 0 (this cluster), then tier 1 (eu) at 2026-11-28T12:00:10Z"},
		"tolerates all by itself":  {[]change{opened("", "eu", "us"), on("spillway-us", 0)}, []string{local, "tier 1 (eu), open", none, "tier 3 (us), open: the pod is here"}, "tried tier 0 (this cluster), then tier 1 (eu), then tier 3 (us); skipped tier 2 (no provider)"},
		"the first is remote":      {[]change{remote, on("spillway-eu", 0)}, []string{"tier 0 (eu), open from the beginning: the pod is here", "tier 1 (no provider), not open", "tier 2 (us), not open"}, ""},
		"the manager is not there": {[]change{waits, unseen}, []string{local, "tier 1 (no provider), not open", "tier 2 (no provider), not open", "tier 3 (no provider), not open"}, "tried tier 0 (this cluster); not yet tier 1 (no provider), tier 2 (no provider), tier 3 (no provider)"},
		"of a DaemonSet":           {[]change{daemon, waits}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod, nso := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 1}}, order()
			pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}}}
			for _, change := range test.changes {
				change(pod, nso)
			}
			tried := Tried(pod, nso, said(), noon)
			var got []string
			for _, tier := range tried {
				got = append(got, tier.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(test.short, Short(tried)); diff != "" {
				t.Errorf("in short: -want +got:\n%s", diff)
			}
		})
	}
	if Tried(&corev1.Pod{}, nil, nil, noon) != nil || Tried(&corev1.Pod{}, &v1alpha1.NamespaceOffloading{}, nil, noon) != nil {
		t.Error("there are tiers without spec.overflow")
	}
}

// said has what the scheduler said at noon, and a minute later, and what was said by others or about other things.
func said() []corev1.Event {
	var all []corev1.Event
	for _, one := range []struct {
		after                      time.Duration
		reason, component, message string
	}{
		{0, "FailedScheduling", "default-scheduler", "0/1 nodes are available"}, {time.Minute, "FailedScheduling", "default-scheduler", "0/2 nodes are available "},
		{61 * time.Second, "FailedScheduling", "spillway", "0/9 nodes are available"}, {62 * time.Second, "TierOpened", "spillway-unscheduledpod", "tier 3"},
		{2 * time.Minute, "FailedScheduling", "default-scheduler", "0/3 nodes are available"}, {time.Second, "FailedScheduling", "default-scheduler", "0/1 nodes are available"},
	} {
		all = append(all, corev1.Event{Reason: one.reason, ReportingController: one.component, Message: one.message, EventTime: metav1.NewMicroTime(noon.Add(one.after))})
	}
	return all
}

func TestOf(t *testing.T) {
	all := Of(order())
	var names []string
	for _, tier := range all {
		names = append(names, tier.Name()+tier.After)
	}
	if got := strings.Join(names, ", "); got != "tier 0 (this cluster), tier 1 (eu), tier 2 (no provider), tier 3 (us)1m0s" {
		t.Error(got)
	}
	if eu, asia := With(order(), "eu"), With(order(), "asia"); eu == nil || *eu != 1 || asia != nil {
		t.Errorf("eu is in %v, and asia in %v", eu, asia)
	}
}
