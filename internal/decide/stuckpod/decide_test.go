package stuckpod

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// refused returns a pod of a ReplicaSet that eu has refused for that long.
func refused(ago time.Duration) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-1", UID: "1",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "2", Controller: ptr.To(true)}}}}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}}}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonRejected, Message: "exceeded quota",
		LastTransitionTime: metav1.NewTime(builder.Epoch.Add(-ago))}}
	return pod
}

// full is an entry about a provider that has refused a pod that requests so many CPUs, for the nth time, so long ago.
func full(id, cpu string, refusals int32, ago time.Duration) v1alpha1.FullProvider {
	f := v1alpha1.FullProvider{Cluster: id, Refusals: refusals, LastRefusal: metav1.NewTime(builder.Epoch.Add(-ago)), Message: "earlier",
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("1Gi")}}
	if until := builder.Epoch.Add(-ago).Add(time.Minute << (refusals - 1)); until.After(builder.Epoch) {
		f.Until = &metav1.Time{Time: until}
	}
	return f
}

func TestDecide(t *testing.T) {
	controller := func(version, kind string) func(*Snapshot) {
		return func(s *Snapshot) { s.Pod.OwnerReferences[0].APIVersion, s.Pod.OwnerReferences[0].Kind = version, kind }
	}
	fulls := func(all ...v1alpha1.FullProvider) func(*Snapshot) {
		return func(s *Snapshot) { s.Offloading.Status.Full = all }
	}
	remote := func(s *Snapshot) {
		s.Offloading.Spec.Overflow = s.Offloading.Spec.Overflow[1:]
		s.Offloading.Status.Overflow = s.Offloading.Status.Overflow[1:]
	}
	runs := func(ago time.Duration) func(*Snapshot) {
		return func(s *Snapshot) {
			other := refused(0)
			other.CreationTimestamp, other.Status = metav1.NewTime(builder.Epoch.Add(-ago)), corev1.PodStatus{Phase: corev1.PodRunning}
			s.Others = []corev1.Pod{*other}
		}
	}
	unschedulable := func(u *v1alpha1.Unschedulable) func(*Snapshot) {
		return func(s *Snapshot) { s.Offloading.Spec.Unschedulable = u }
	}
	claims := func(s *Snapshot) {
		s.Pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	}
	const due = 2 * time.Minute
	for name, test := range map[string]struct {
		ago    time.Duration
		change []func(*Snapshot)
		want   string // The refusals and the back-off of eu in a new status, the event, whether it is deleted, and when to decide again.
	}{
		"not for long":                      {time.Minute, nil, "1m0s"},
		"for long enough":                   {due, nil, "1 1m0s GivenUp deleted 0s"},
		"sooner":                            {time.Second, []func(*Snapshot){unschedulable(&v1alpha1.Unschedulable{After: &metav1.Duration{Duration: time.Second}})}, "1 1m0s GivenUp deleted 0s"},
		"its namespace says Wait":           {due, []func(*Snapshot){unschedulable(&v1alpha1.Unschedulable{Action: v1alpha1.UnschedulableWait})}, "0s"},
		"no tiers":                          {due, []func(*Snapshot){func(s *Snapshot) { s.Offloading.Spec.Overflow = nil }}, "0s"},
		"not offloaded":                     {due, []func(*Snapshot){func(s *Snapshot) { s.Offloading = nil }}, "0s"},
		"a status about an earlier spec":    {due, []func(*Snapshot){func(s *Snapshot) { s.Offloading.Generation++ }}, "0s"},
		"a provider that is in no tier":     {due, []func(*Snapshot){func(s *Snapshot) { s.ClusterID = "asia" }}, "0s"},
		"it runs":                           {due, []func(*Snapshot){func(s *Snapshot) { s.Pod.Status.Phase = corev1.PodRunning }}, "0s"},
		"full already":                      {due, []func(*Snapshot){fulls(full("eu", "2", 1, 30*time.Second))}, "GivenUp deleted 0s"},
		"full for larger pods":              {due, []func(*Snapshot){fulls(full("eu", "3", 1, 30*time.Second))}, "1 1m0s GivenUp deleted 0s"},
		"refused again":                     {due, []func(*Snapshot){fulls(full("eu", "2", 2, 5*time.Minute))}, "3 4m0s GivenUp deleted 0s"},
		"refused often":                     {due, []func(*Snapshot){fulls(full("eu", "2", 9, 40*time.Minute))}, "10 30m0s GivenUp deleted 0s"},
		"another one has run since":         {due, []func(*Snapshot){fulls(full("eu", "2", 2, 5*time.Minute)), runs(time.Minute)}, "1 1m0s GivenUp deleted 0s"},
		"another one has run since before":  {due, []func(*Snapshot){fulls(full("eu", "2", 2, 5*time.Minute)), runs(time.Hour)}, "3 4m0s GivenUp deleted 0s"},
		"of a StatefulSet":                  {due, []func(*Snapshot){controller("apps/v1", "StatefulSet")}, "1 1m0s NotReplaced 0s"},
		"of a StatefulSet, for a long time": {time.Hour, []func(*Snapshot){controller("apps/v1", "StatefulSet")}, "0s"},
		"of a Job":                          {due, []func(*Snapshot){controller("batch/v1", "Job")}, "1 1m0s NotReplaced 0s"},
		"of a ReplicationController":        {due, []func(*Snapshot){controller("v1", "ReplicationController")}, "1 1m0s GivenUp deleted 0s"},
		"of a kind like it":                 {due, []func(*Snapshot){controller("example.com/v1", "ReplicaSet")}, "1 1m0s NotReplaced 0s"},
		"of nobody":                         {due, []func(*Snapshot){func(s *Snapshot) { s.Pod.OwnerReferences = nil }}, "1 1m0s NotReplaced 0s"},
		"with claims":                       {due, []func(*Snapshot){claims}, "1 1m0s NotReplaced 0s"},
		"others take it":                    {due, []func(*Snapshot){remote}, "1 1m0s GivenUp deleted 0s"},
		"others take larger ones not":       {due, []func(*Snapshot){remote, fulls(full("us", "3", 1, 0))}, "1 1m0s GivenUp deleted 0s"},
		"no other takes it":                 {due, []func(*Snapshot){remote, fulls(full("us", "2", 1, 20*time.Second))}, "1 1m0s NotReplaced 40s"},
		"no other takes it, still":          {time.Hour, []func(*Snapshot){remote, fulls(full("us", "2", 1, 20*time.Second))}, "40s"},
		"another takes it again":            {time.Hour, []func(*Snapshot){remote, fulls(full("us", "2", 1, time.Minute))}, "1 1m0s GivenUp deleted 0s"},
		"there is no other":                 {due, []func(*Snapshot){remote, func(s *Snapshot) { s.Offloading.Status.Overflow = s.Offloading.Status.Overflow[:1] }}, "1 1m0s NotReplaced 0s"},
		"the clock was set back":            {-time.Hour, nil, "1 1m0s GivenUp deleted 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team").Obj()
			nso.Generation, nso.Spec.Overflow = 1, []v1alpha1.OverflowTier{{Local: true}, {}, {}}
			nso.Status = v1alpha1.NamespaceOffloadingStatus{ObservedGeneration: 1, Overflow: []v1alpha1.OverflowTierStatus{{}, {Clusters: []string{"eu"}}, {Clusters: []string{"us"}}}}
			s := Snapshot{Pod: refused(test.ago), ClusterID: "eu", Offloading: nso, Now: builder.Epoch}
			for _, change := range test.change {
				change(&s)
			}
			plan := Decide(s)
			got := said(t, plan)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, plan.Message)
			}
			if plan.Status == nil {
				return
			}
			s.Offloading.Status = *plan.Status
			if again := Decide(s); again.Status != nil || again.Delete != plan.Delete || again.Reason != plan.Reason {
				t.Errorf("once the status is written: %+v", again)
			}
		})
	}
}

func said(t *testing.T, plan Plan) string {
	t.Helper()
	var words []string
	if plan.Status != nil {
		c := meta.FindStatusCondition(plan.Status.Conditions, v1alpha1.OffloadingFull)
		for _, f := range plan.Status.Full {
			if f.Cluster == "eu" && f.Message != "earlier" {
				words = append(words, fmt.Sprint(f.Refusals), f.Until.Sub(builder.Epoch).String())
				if c == nil || !strings.Contains(c.Message, "pods that request cpu 2, memory 1Gi or more are kept away from eu until 2026-01-02T03") {
					t.Errorf("condition %+v", c)
				}
			}
		}
	}
	if plan.Reason != "" {
		words = append(words, plan.Reason)
	}
	if plan.Delete {
		words = append(words, "deleted")
	}
	return strings.Join(append(words, plan.RecheckAfter.String()), " ")
}
