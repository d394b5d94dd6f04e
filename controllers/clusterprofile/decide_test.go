package clusterprofile

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func list(cpu, gpus string) corev1.ResourceList {
	return corev1.ResourceList{"cpu": resource.MustParse(cpu), "nvidia.com/gpu": resource.MustParse(gpus)}
}

func snapshot(changes ...func(*Snapshot)) Snapshot {
	binding := builder.Binding("eu").Condition(v1alpha1.BindingConnected, metav1.ConditionTrue, "Connected", "").
		Condition(v1alpha1.BindingReady, metav1.ConditionFalse, "LimitsMissing", "no limits").Obj()
	binding.UID, binding.Status.KubernetesVersion, binding.Status.RemoteClusterUID = "b", "v1.36.3", "remote"
	node := func(zone string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyRegion: "europe", corev1.LabelTopologyZone: zone}},
			Status:     corev1.NodeStatus{Capacity: list("8", "2"), Allocatable: list("4", "1")},
		}
	}
	pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("500m", "2")}}}}}
	s := Snapshot{Binding: binding, Nodes: []*corev1.Node{node("b"), node("a")}, Pods: []corev1.Pod{pod}, Known: true, Namespace: "fleet", Now: builder.Epoch, Exact: true}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// published has the profile that is created.
func published(s *Snapshot) {
	s.Existing = Decide(*s).Create
	if status := Decide(*s).Status; status != nil {
		s.Existing = status
	}
}

func TestProfile(t *testing.T) {
	created := Decide(snapshot()).Create
	if created == nil || created.Namespace != "fleet" || created.Name != "eu" || created.Labels[inventory.LabelClusterManagerKey] != created.Spec.ClusterManager.Name ||
		!metav1.IsControlledBy(created, snapshot().Binding) || len(created.Status.AccessProviders) > 0 {
		t.Fatalf("created is %+v", created)
	}
	got := snapshot(published).Existing.Status
	var said []string
	for _, p := range got.Properties {
		said = append(said, p.Name+"="+p.Value)
	}
	want := []string{
		"capacity.spillway.io/cpu=16", "capacity.spillway.io/nvidia.com/gpu=4", "free.spillway.io/cpu=7500m", "free.spillway.io/nvidia.com/gpu=0",
		"spillway.io/cluster=eu", "spillway.io/cluster-uid=remote", "topology.kubernetes.io/region=europe", "topology.kubernetes.io/zone=a,b",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	said = nil
	for _, c := range got.Conditions {
		said = append(said, c.Type+" "+string(c.Status)+" "+c.Reason)
	}
	if diff := cmp.Diff([]string{"ControlPlaneHealthy True Connected", "Ready False LimitsMissing"}, said); diff != "" || got.Version.Kubernetes != "v1.36.3" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func unbound(s *Snapshot) { s.Binding.DeletionTimestamp = &metav1.Time{Time: s.Now} }

func TestChanges(t *testing.T) {
	small := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("100m", "0")}}}}}
	for name, test := range map[string]struct {
		change func(*Snapshot)
		// want are the properties with a new time; "-" for no write.
		want string
	}{
		"nothing":                        {func(*Snapshot) {}, "-"},
		"the time":                       {func(s *Snapshot) { s.Now = s.Now.Add(time.Hour) }, "-"},
		"the pods are unknown":           {func(s *Snapshot) { s.Known, s.Pods = false, nil }, "-"},
		"a pod":                          {func(s *Snapshot) { s.Now, s.Pods = s.Now.Add(time.Hour), nil }, "free.spillway.io/cpu free.spillway.io/nvidia.com/gpu"},
		"a pod, and it waits for others": {func(s *Snapshot) { s.Exact, s.Pods = false, append(s.Pods, small) }, "later"},
		"until then":                     {func(s *Snapshot) { s.Now, s.Pods = s.Now.Add(time.Hour), append(s.Pods, small) }, "free.spillway.io/cpu"},
		"a large pod does not wait":      {func(s *Snapshot) { s.Now, s.Exact, s.Pods = s.Now.Add(time.Hour), false, nil }, "free.spillway.io/cpu free.spillway.io/nvidia.com/gpu"},
		"nor does a condition": {func(s *Snapshot) {
			s.Now, s.Exact, s.Pods, s.Binding.Status.Conditions[0].Reason = s.Now.Add(time.Hour), false, append(s.Pods, small), "Other"
		}, "free.spillway.io/cpu"},
		"it is unbound":                  {unbound, "-"},
		"it says so":                     {func(s *Snapshot) { unbound(s); s.Binding.Status.Conditions[1].Reason = v1alpha1.ReasonDeleting }, ""},
		"it is unbound, somebody else's": {func(s *Snapshot) { unbound(s); s.Existing.OwnerReferences = nil }, "-"},
		"it is unbound, there is none":   {func(s *Snapshot) { unbound(s); s.Existing = nil }, "-"},
		"it goes":                        {func(s *Snapshot) { s.Existing.DeletionTimestamp = &metav1.Time{Time: s.Now}; s.Pods = nil }, "-"},
		"somebody else's":                {func(s *Snapshot) { s.Existing.OwnerReferences = nil }, "foreign"},
		"a condition of others": {func(s *Snapshot) {
			s.Existing.Status.Conditions = append(s.Existing.Status.Conditions, metav1.Condition{Type: "Synced"})
		}, "-"},
		"a condition": {func(s *Snapshot) { s.Binding.Status.Conditions[0].Reason = "Other" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(published)
			s.Binding = s.Binding.DeepCopy()
			test.change(&s)
			plan := Decide(s)
			got := "-"
			switch {
			case plan.Foreign:
				got = "foreign"
			case plan.Later:
				got = "later"
			case plan.Status != nil:
				var changed []string
				for _, p := range plan.Status.Status.Properties {
					if !p.LastObservedTime.Time.Equal(builder.Epoch) {
						changed = append(changed, p.Name)
					}
				}
				got = strings.Join(changed, " ")
			}
			if got != test.want || plan.Create != nil {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestRequests: while pods come and go each second, small changes cost two requests a minute, and large ones what the pace
// allows.
func TestRequests(t *testing.T) {
	const minutes = 10
	for name, test := range map[string]struct {
		cpu  string // What the pod that comes and goes requests.
		most int    // Of looks with requests.
	}{
		"nothing":            {"0", minutes},
		"small changes":      {"100m", minutes},
		"changes by a half":  {"4", minutes * 20},
		"the last that is":   {"7500m", minutes * 20},
		"hardly a change":    {"1m", minutes},
		"5% of the capacity": {"800m", minutes},
	} {
		clock := testclock.NewFakePassiveClock(builder.Epoch)
		r := &Reconciler{Clock: clock, Pace: throttle.New(3*time.Second, 6*time.Second, clock), Small: throttle.NewAllowance[string](1, time.Minute, clock)}
		profile, looks := snapshot(published).Existing, 0
		var shown Snapshot
		for second := range minutes * 60 {
			clock.SetTime(builder.Epoch.Add(time.Duration(second) * time.Second))
			s := snapshot(func(s *Snapshot) { s.Now = clock.Now() })
			if second%7 > 3 {
				s.Pods = append(s.Pods, corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(test.cpu, "0")}}}}})
			}
			if r.Pace.Wait("eu") > 0 {
				continue
			}
			r.Pace.Wrote("eu")
			if _, due := r.due(&s); due {
				looks++
				s.Existing = profile
				plan := Decide(s)
				if r.saw(profile, s.Binding, plan); plan.Status != nil {
					profile = plan.Status
					r.seen.Store("eu", profile)
				}
			}
			shown = s
		}
		if looks > test.most || looks == 0 {
			t.Errorf("%s: %d looks, want at most %d", name, looks, test.most)
		}
		shown.Existing, shown.Exact = profile, false
		if plan := Decide(shown); plan.Status != nil {
			t.Errorf("%s: the profile differs by more than a little: %v", name, plan.Status.Status.Properties)
		}
	}
}

// TestLack: an event says what is missing, with a reason of its own for each.
func TestLack(t *testing.T) {
	kind := schema.GroupResource{Group: inventory.GroupVersion.Group, Resource: "clusterprofiles"}
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", kind, "eu", "404 page not found", 0, true)
	terminating := apierrors.NewForbidden(kind, "eu", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"the kind was never there": {&meta.NoKindMatchError{}, v1alpha1.ReasonKindNotServed},
		"the kind is gone":         {unserved, v1alpha1.ReasonKindNotServed},
		"the right":                {apierrors.NewForbidden(kind, "eu", nil), v1alpha1.ReasonRightsMissing},
		"the namespace":            {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "fleet"), v1alpha1.ReasonNamespaceMissing},
		"the namespace is going":   {terminating, v1alpha1.ReasonNamespaceMissing},
		"an answer":                {apierrors.NewTimeoutError("", 0), ""},
	} {
		if got, _ := lack(test.err); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
