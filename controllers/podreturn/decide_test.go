package podreturn

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/quota"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var (
	one = spill.Size{{Name: corev1.ResourceCPU, Value: 1}}
	two = spill.Size{{Name: corev1.ResourceCPU, Value: 2}}
)

// from returns a pod of a ReplicaSet in a tier, which was created so many minutes after the first.
func from(tier int, name string, minutes int, changes ...func(*corev1.Pod)) Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(builder.Epoch.Add(time.Duration(minutes) * time.Minute)),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: ptr.To(true)}},
	}}
	for _, change := range changes {
		change(pod)
	}
	return Pod{Pod: pod, Tier: tier, Size: one}
}

func ownedBy(version, kind string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = version, kind
	}
}

func claims(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
}

func in(region string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"region": region} }
}

// room is a snapshot of two tiers, with room for a pod in the first.
func room(pods ...Pod) Snapshot {
	nso := builder.Offloading("team").Obj()
	nso.Spec.Return = &v1alpha1.ReturnPolicy{}
	return Snapshot{
		Offloading: nso, Pods: pods, Now: builder.Epoch.Add(time.Hour),
		Tiers:  []spill.Tier{{Clusters: []string{"eu"}}, {Clusters: []string{"us"}, After: 10 * time.Second}},
		Places: [][]Place{{{Name: "eu", Node: builder.Node("spillway-eu").Label("region", "eu").Taint(v1alpha1.TaintVirtualNode, corev1.TaintEffectNoSchedule).Obj(), Free: one}}, nil},
	}
}

// TestDecide shows what is reported, and which pod goes, once there has been room for ten minutes.
func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*Snapshot, *memory)
		pods    []Pod
		reason  string
		evicted string
	}{
		"all pods are in place":              {pods: []Pod{from(0, "a", 0)}, reason: v1alpha1.ReasonAllInPlace},
		"there are none":                     {reason: v1alpha1.ReasonAllInPlace},
		"the newest of the last tier":        {pods: []Pod{from(0, "a", 9), from(1, "b", 1), from(1, "c", 2)}, reason: v1alpha1.ReasonReturning, evicted: "c"},
		"of a StatefulSet":                   {pods: []Pod{from(1, "a", 0, ownedBy("apps/v1", "StatefulSet"))}, reason: v1alpha1.ReasonNotMovable},
		"of a ReplicaSet of somebody else":   {pods: []Pod{from(1, "a", 0, ownedBy("example.com/v1", "ReplicaSet"))}, reason: v1alpha1.ReasonNotMovable},
		"without a controller":               {pods: []Pod{from(1, "a", 0, func(pod *corev1.Pod) { pod.OwnerReferences = nil })}, reason: v1alpha1.ReasonNotMovable},
		"with a claim":                       {pods: []Pod{from(1, "a", 0, claims)}, reason: v1alpha1.ReasonNotMovable},
		"in a provider that is away":         {pods: []Pod{{Pod: from(1, "a", 0).Pod, Tier: 1, Size: one, Away: true}}, reason: v1alpha1.ReasonNotMovable},
		"that asks for another place":        {pods: []Pod{from(1, "a", 0, in("us"))}, reason: v1alpha1.ReasonNoRoom},
		"that asks for that place":           {pods: []Pod{from(1, "a", 0, in("eu"))}, reason: v1alpha1.ReasonReturning, evicted: "a"},
		"too large":                          {pods: []Pod{{Pod: from(1, "a", 0).Pod, Tier: 1, Size: two}}, reason: v1alpha1.ReasonNoRoom},
		"one is too large, the other is not": {pods: []Pod{{Pod: from(1, "a", 5).Pod, Tier: 1, Size: two}, from(1, "b", 0, func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "b" })}, reason: v1alpha1.ReasonReturning, evicted: "b"},
		"others wait":                        {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, _ *memory) { s.Waiting = 1 }, reason: v1alpha1.ReasonPodsWait},
		"a taint of the node": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, _ *memory) {
			s.Places[0][0].Node = builder.Node("spillway-eu").Taint("maintenance", corev1.TaintEffectNoExecute).Obj()
		}, reason: v1alpha1.ReasonNoRoom},
		"a provider that has refused such": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, _ *memory) {
			s.Doubtful = func(id, namespace string, size spill.Size) bool {
				return id == "eu" && namespace == "team" && size.Covers(one)
			}
		}, reason: v1alpha1.ReasonNoRoom},
		"another has just returned": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, m *memory) {
			m.last = spill.Returned{At: s.Now.Add(-30 * time.Second), From: 1, Settled: true}
		}, reason: v1alpha1.ReasonReturning},
		"its successor is not Ready": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, m *memory) {
			m.last = spill.Returned{At: s.Now.Add(-2 * time.Minute), From: 1}
			s.Successors = []spill.Successor{{}}
		}, reason: v1alpha1.ReasonSuccessorNotReady},
		"its successor is Ready": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, m *memory) {
			m.last = spill.Returned{At: s.Now.Add(-2 * time.Minute), From: 1}
			s.Successors = []spill.Successor{{Ready: true}}
		}, reason: v1alpha1.ReasonReturning, evicted: "a"},
		"the manager has started since then": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, m *memory) {
			m.last, m.fresh = spill.Returned{At: s.Now.Add(-time.Hour), From: 1}, true
		}, reason: v1alpha1.ReasonReturning, evicted: "a"},
		"one of that ReplicaSet has failed": {pods: []Pod{from(1, "a", 1), from(1, "b", 0, func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "b" })}, change: func(_ *Snapshot, m *memory) {
			m.behind = []string{"web"}
		}, reason: v1alpha1.ReasonReturning, evicted: "b"},
		"another may have been evicted": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, m *memory) {
			gone := from(1, "gone", 0)
			m.unsure, m.asked, m.next = &gone, s.Now.Add(-settle), s.Now
			s.Successors = []spill.Successor{{Ready: true}} // Of an earlier one.
		}, reason: v1alpha1.ReasonSuccessorNotReady},
		"it was not evicted": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, m *memory) {
			m.unsure, m.next = &s.Pods[0], s.Now
		}, reason: v1alpha1.ReasonReturning, evicted: "a"},
		"another namespace takes the room": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, _ *memory) {
			s.Places[0][0].Promised = one
		}, reason: v1alpha1.ReasonNoRoom},
		"it must not be evicted": {pods: []Pod{from(1, "a", 0, func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
		})}, reason: v1alpha1.ReasonNotMovable},
		"it tolerates all providers": {pods: []Pod{from(1, "a", 0, func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}}
		})}, reason: v1alpha1.ReasonNotMovable},
		"the last one has failed": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, m *memory) {
			m.last = spill.Returned{At: s.Now.Add(-2 * time.Minute), From: 1}
			s.Opened = []spill.Opened{{{Tier: 1, At: s.Now.Add(-time.Minute)}}}
		}, reason: v1alpha1.ReasonRoomTooNew},
		"the API server has refused it": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, m *memory) {
			m.refuse("a", "no", 1, s.Now)
		}, reason: v1alpha1.ReasonEvictionsRefused},
		"it has just refused another": {pods: []Pod{from(1, "a", 0), from(1, "b", 1)}, change: func(s *Snapshot, m *memory) {
			m.refuse("b", "no", 1, s.Now)
		}, reason: v1alpha1.ReasonEvictionsRefused},
		"it has refused another a minute ago": {pods: []Pod{from(1, "a", 0), from(1, "b", 1)}, change: func(s *Snapshot, m *memory) {
			m.refuse("b", "no", 1, s.Now.Add(-time.Minute))
			m.refuse("b", "no", 1, s.Now.Add(-time.Minute))
		}, reason: v1alpha1.ReasonReturning, evicted: "a"},
		"it has refused all, but one has returned since": {pods: []Pod{from(1, "a", 0), from(1, "b", 1)}, change: func(s *Snapshot, m *memory) {
			m.refuse("a", "no", 1, s.Now)
			m.refuse("b", "no", 1, s.Now)
			m.returned(spill.Returned{At: s.Now.Add(-time.Hour), From: 1, Settled: true})
		}, reason: v1alpha1.ReasonReturning, evicted: "b"},
		"replicas share the bindings": {pods: []Pod{from(1, "a", 0)}, change: func(s *Snapshot, _ *memory) { s.Shared = true }, reason: v1alpha1.ReasonBindingsShared},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := room(test.pods...), &memory{}
			first := decide(s, m)
			if first.move.Pod >= 0 {
				t.Fatalf("pod %s goes at once", s.Pods[first.move.Pod].Name)
			}
			s.Now = s.Now.Add(DefaultAfter)
			if test.change != nil {
				test.change(&s, m)
			}
			p := decide(s, m)
			evicted := ""
			if p.move.Pod >= 0 {
				evicted = s.Pods[p.move.Pod].Name
			}
			if p.condition.reason != test.reason || evicted != test.evicted {
				t.Errorf("%s (%s) and %q goes, want %s and %q", p.condition.reason, p.condition.message, evicted, test.reason, test.evicted)
			}
		})
	}
}

// TestReported: a manager that starts leaves the condition alone until it knows as much as the one before. A message
// that differs only in numbers is not written.
func TestReported(t *testing.T) {
	written := func(c condition, before ...metav1.Condition) string {
		status := v1alpha1.NamespaceOffloadingStatus{Conditions: before}
		c.into(&status, 1, &memory{told: builder.Epoch}, builder.Epoch.Add(settle))
		return status.Conditions[0].Reason + status.Conditions[0].Message
	}
	refused := metav1.Condition{Type: v1alpha1.OffloadingReturns, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonEvictionsRefused, Message: "needs 2", ObservedGeneration: 1}
	old := refused
	old.ObservedGeneration = 0
	for name, test := range map[string]struct{ got, want string }{
		"first":              {written(condition{reason: "A", message: "a", hold: true}), "Aa"},
		"it holds":           {written(condition{reason: "A", message: "a", hold: true}, refused), "EvictionsRefusedneeds 2"},
		"of an earlier spec": {written(condition{reason: "A", message: "a", hold: true}, old), "Aa"},
		"another":            {written(condition{reason: "A", message: "a"}, refused), "Aa"},
		"other numbers":      {written(condition{reason: v1alpha1.ReasonEvictionsRefused, message: "needs 3"}, refused), "EvictionsRefusedneeds 2"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %s, want %s", name, test.got, test.want)
		}
	}
	status := v1alpha1.NamespaceOffloadingStatus{Conditions: []metav1.Condition{refused}}
	wait := condition{reason: v1alpha1.ReasonNoRoom}.into(&status, 1, &memory{told: builder.Epoch}, builder.Epoch.Add(time.Second))
	if want := settle - time.Second; wait != want || status.Conditions[0].Reason != v1alpha1.ReasonEvictionsRefused {
		t.Errorf("another reason is told after %v, want %v: %v", wait, want, status.Conditions)
	}
	s, m := room(from(1, "a", 0)), &memory{restored: builder.Epoch.Add(time.Hour)}
	if p := decide(s, m); !p.condition.hold || p.again <= 0 {
		t.Errorf("after a start: %+v, again after %v", p.condition, p.again)
	}
	s.Pods[0].Away, s.Connecting = true, true
	if p := decide(s, m); !p.condition.hold || p.again != connecting {
		t.Errorf("while a provider connects: %+v, again after %v", p.condition, p.again)
	}
	s.Pods[0].Away, s.Connecting = false, false
	s.Now = s.Now.Add(DefaultAfter + settle)
	if p := decide(s, m); p.condition.hold || p.move.Pod != 0 {
		t.Errorf("long after a start: %+v, pod %d goes", p.condition, p.move.Pod)
	}
}

// TestMemory: the last return survives in the status, and a namespace that was made again has none.
func TestMemory(t *testing.T) {
	var m memories
	nso := builder.Offloading("team").Obj()
	known := m.get(nso, builder.Epoch)
	known.last = known.last.Next(1, "web-1", "web", builder.Epoch.Add(time.Second))
	known.into(&nso.Status)
	m.forget("team")
	again := m.get(nso, builder.Epoch)
	if again == known || !again.last.At.Equal(known.last.At) || again.last.From != 1 || again.last.Pod != "web-1" || again.last.Owner != "web" || !again.fresh {
		t.Errorf("%+v is remembered", again)
	}
	if !m.has("team") || m.has("other") || strings.Join(m.namespaces(), " ") != "team" {
		t.Errorf("namespaces %v", m.namespaces())
	}
	nso = builder.Offloading("team").Obj()
	nso.UID = "another"
	if again := m.get(nso, builder.Epoch); !again.last.At.IsZero() {
		t.Errorf("%+v is remembered of another offloading", again)
	}
}

// TestBlind: what is unknown for a minute is reported. What becomes known does not count any more.
func TestBlind(t *testing.T) {
	var m memory
	reported := func(after time.Duration) string {
		c, _ := m.blind(errNodesUnknown, builder.Epoch.Add(after))
		return c.reason
	}
	if got := []string{reported(0), reported(settle - 1), reported(settle)}; strings.Join(got, ",") != ",,"+v1alpha1.ReasonRoomUnknown {
		t.Errorf("reported %q", got)
	}
	m.observe(room())
	if _, wait := m.blind(errNodesUnknown, builder.Epoch.Add(time.Hour)); wait != settle {
		t.Errorf("it is unknown again, and reported after %v", wait)
	}
}

// TestBehind: the last ReplicaSets whose returns failed go last, and no more of them are remembered.
func TestBehind(t *testing.T) {
	var m memory
	for i := range 2 * mostBehind {
		m.fall(fmt.Sprint(i))
		m.fall(fmt.Sprint(i))
	}
	if len(m.behind) != mostBehind || m.behind[0] != fmt.Sprint(mostBehind) {
		t.Errorf("%q go last", m.behind)
	}
}

// TestUsage: a sum counts until a pod comes or goes, and is forgotten with its binding.
func TestUsage(t *testing.T) {
	var u usage
	counted := 0
	count := func() (spill.Size, error) { counted++; return one, nil }
	want := func(n int, at time.Duration) {
		t.Helper()
		if _, err := u.of("eu", "n", builder.Epoch.Add(at), count); err != nil || counted != n {
			t.Errorf("counted %d times (%v), want %d", counted, err, n)
		}
	}
	want(1, 0)
	want(1, time.Second)
	u.changed("us")
	want(1, time.Second)
	u.changed("eu")
	want(2, time.Second)
	want(3, time.Second+valid)
	if _, err := u.of("us", "n", builder.Epoch, func() (spill.Size, error) { u.changed("us"); return count() }); err != nil {
		t.Error(err)
	}
	if _, err := u.of("us", "n", builder.Epoch, count); err != nil || counted != 5 {
		t.Errorf("what was counted during a change is believed")
	}
	if u.keep([]*v1alpha1.ClusterBinding{builder.Binding("us").Obj()}); len(u.known) != 1 || len(u.changes) != 1 {
		t.Errorf("%v and %v are remembered", u.known, u.changes)
	}
}

// TestPromises: what returns to a place is promised to its namespace, and missing for others.
func TestPromises(t *testing.T) {
	var p promises
	of := func(namespace string) Pod {
		pod := from(1, "web", 0)
		pod.Namespace = namespace
		return pod
	}
	p.keep("eu", of("a"))
	p.keep("eu", of("b"))
	eu, us := []Place{{Name: "us"}, {Name: "eu"}}, []Place{{Name: "us"}}
	for except, want := range map[string]spill.Size{"a": one, "c": two} {
		if got := p.to("eu", except); !got.Covers(want) || !want.Covers(got) || p.to("us", except) != nil {
			t.Errorf("%v is promised to others than %s, want %v", got, except, want)
		}
		if n := len(p.pods(eu, except)); int64(n) != want[0].Value || p.pods(us, except) != nil {
			t.Errorf("%d pods of others than %s are promised room, want %v", n, except, want)
		}
	}
	if p.end("a"); !p.to("eu", "c").Covers(one) || p.to("eu", "c").Covers(two) {
		t.Errorf("%v is promised", p.to("eu", "c"))
	}
}

// TestWithin: what a quota has left, one namespace after the other may use, in whichever place.
func TestWithin(t *testing.T) {
	cpus := func(n int64) quota.Amounts { return quota.Amounts{corev1.ResourceCPU: n} }
	size := func(n int64) spill.Size {
		return spill.SizeOfList(corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(n, resource.DecimalSI)})
	}
	limited := quota.Pod{Size: quota.Amounts{"limits.cpu": 2}}
	for name, test := range map[string]struct {
		free, promised int64
		left, rest     quota.Amounts
		want           string // What is free, and what of it may be used.
	}{
		"no quota":                    {5, 1, nil, nil, "cpu 5m, cpu 4m"},
		"the place is the limit":      {5, 1, cpus(9), cpus(8), "cpu 5m, cpu 4m"},
		"the quota is":                {5, 0, cpus(3), cpus(3), "cpu 3m, cpu 3m"},
		"it is promised here":         {5, 1, cpus(1), cpus(0), "cpu 1m, "},
		"it is promised elsewhere":    {5, 0, cpus(1), cpus(0), "cpu 1m, "},
		"only the place is promised":  {5, 1, cpus(3), cpus(3), "cpu 3m, cpu 3m"},
		"nothing is subtracted twice": {5, 1, cpus(3), cpus(2), "cpu 3m, cpu 2m"},
		"limits are promised":         {5, 0, quota.Amounts{"limits.cpu": 2}, quota.Amounts{"limits.cpu": 1}, "cpu 5m, "},
	} {
		p := Place{Free: size(test.free), Promised: size(test.promised)}.within(test.left, test.rest, []quota.Pod{limited})
		if got := fmt.Sprintf("%s, %s", p.Free, p.Free.Minus(p.Promised)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
