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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// refused returns a pod of a ReplicaSet that eu has refused for that long.
func refused(ago time.Duration) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-1", UID: "1",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "2", Controller: ptr.To(true)}}}}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}}}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonRejected, Message: "exceeded quota: full",
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
	condition := func(kind string) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Binding.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionFalse, Reason: "Away"}}
		}
	}
	says := func(message string) func(*Snapshot) {
		return func(s *Snapshot) { s.Pod.Status.Conditions[0].Message = message }
	}
	created := func(ago time.Duration) func(*Snapshot) {
		return func(s *Snapshot) { s.Pod.CreationTimestamp = metav1.NewTime(builder.Epoch.Add(-ago)) }
	}
	tolerates := func(key string) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Pod.Spec.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}
		}
	}
	selects := func(region string) func(*Snapshot) {
		return func(s *Snapshot) { s.Pod.Spec.NodeSelector = map[string]string{"region": region} }
	}
	runs := func(ago time.Duration) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: builder.Epoch.Add(-ago)}}
		}
	}
	unschedulable := func(u *v1alpha1.Unschedulable) func(*Snapshot) {
		return func(s *Snapshot) { s.Offloading.Spec.Unschedulable = u }
	}
	claims := func(s *Snapshot) {
		s.Pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	}
	virtual := func(s *Snapshot) {
		s.Nodes = nil
		s.Pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{admission.OnVirtual}}}}}}
	}
	grows := func(reason, message string, node ...string) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Binding.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{Max: map[corev1.ResourceName]resource.Quantity{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("9")}}
			if len(node) > 0 {
				value := "a"
				s.Group = field.Group{"zone": &value}
				s.Binding.Spec.VirtualNode.Elastic.Groups = []v1alpha1.ElasticGroup{{Labels: map[string]v1alpha1.LabelValue{"zone": "a"},
					Node: map[corev1.ResourceName]resource.Quantity{"cpu": resource.MustParse(node[0]), "memory": resource.MustParse("1Gi")}}}
			}
			s.Pod.Annotations = map[string]string{v1alpha1.AnnotationRemoteUID: "r", v1alpha1.AnnotationRemoteFor: "1"}
			s.Pod.Status.Conditions[0].Reason, s.Pod.Status.Conditions[0].Message = reason, message
		}
	}
	const unschedulableHere, noRoom = v1alpha1.ReasonUnschedulable, "1 Insufficient cpu"
	taint := func(s *Snapshot) {
		s.Nodes["us"][0].Spec.Taints = []corev1.Taint{{Key: v1alpha1.TaintVirtualNode, Effect: corev1.TaintEffectNoSchedule}, {Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	}
	const due = 5 * time.Minute
	for name, test := range map[string]struct {
		ago    time.Duration
		change []func(*Snapshot)
		want   string // The refusals and the back-off of eu in a new status, the event, whether it is deleted, and when to decide again.
	}{
		"not for long":                       {4 * time.Minute, nil, "1m0s"},
		"for long enough":                    {due, nil, "1 1m0s GivenUp deleted 0s"},
		"sooner":                             {time.Second, []func(*Snapshot){unschedulable(&v1alpha1.Unschedulable{After: &metav1.Duration{Duration: time.Second}})}, "1 1m0s GivenUp deleted 0s"},
		"its namespace does not ask for it":  {due, []func(*Snapshot){unschedulable(nil)}, "0s"},
		"its namespace says Wait":            {due, []func(*Snapshot){unschedulable(&v1alpha1.Unschedulable{Action: v1alpha1.UnschedulableWait})}, "0s"},
		"no tiers":                           {due, []func(*Snapshot){func(s *Snapshot) { s.Offloading.Spec.Overflow = nil }}, "0s"},
		"not offloaded":                      {due, []func(*Snapshot){func(s *Snapshot) { s.Offloading = nil }}, "0s"},
		"a status about an earlier spec":     {due, []func(*Snapshot){func(s *Snapshot) { s.Offloading.Generation++ }}, "0s"},
		"a provider that is in no tier":      {due, []func(*Snapshot){func(s *Snapshot) { s.Binding.Spec.ClusterID = "asia" }}, "0s"},
		"a provider that is paused":          {due, []func(*Snapshot){func(s *Snapshot) { s.Binding.Spec.Paused = true }}, "0s"},
		"a provider that is away":            {due, []func(*Snapshot){condition(v1alpha1.BindingConnected)}, "0s"},
		"a provider that others hold":        {due, []func(*Snapshot){condition(v1alpha1.BindingFenced)}, "0s"},
		"a provider without Leases":          {due, []func(*Snapshot){condition(v1alpha1.BindingFenced), func(s *Snapshot) { s.Binding.Status.Conditions[0].Reason = v1alpha1.ReasonLeaseForbidden }}, "1 1m0s GivenUp deleted 0s"},
		"it is refused for what it is":       {due, []func(*Snapshot){says("violates PodSecurity")}, "NotReplaced 0s"},
		"no other host is left":              {due, []func(*Snapshot){says("0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.")}, "NotReplaced 0s"},
		"the provider fails":                 {due, []func(*Snapshot){func(s *Snapshot) { s.Pod.Status.Conditions[0].Reason = v1alpha1.ReasonServerError }}, "NotReplaced 0s"},
		"full already":                       {due, []func(*Snapshot){fulls(full("eu", "2", 1, 30*time.Second))}, "GivenUp deleted 0s"},
		"it came nevertheless":               {due, []func(*Snapshot){fulls(full("eu", "2", 4, 7*time.Minute)), created(6 * time.Minute)}, "NotReplaced 1m0s"},
		"full for larger pods":               {due, []func(*Snapshot){fulls(full("eu", "3", 1, 30*time.Second))}, "1 1m0s GivenUp deleted 0s"},
		"refused again":                      {due, []func(*Snapshot){fulls(full("eu", "2", 2, 5*time.Minute)), created(4 * time.Minute)}, "3 4m0s GivenUp deleted 0s"},
		"refused often":                      {due, []func(*Snapshot){fulls(full("eu", "2", 9, 40*time.Minute))}, "10 30m0s GivenUp deleted 0s"},
		"of a StatefulSet":                   {due, []func(*Snapshot){controller("apps/v1", "StatefulSet")}, "NotReplaced 0s"},
		"of a StatefulSet, for a long time":  {time.Hour, []func(*Snapshot){controller("apps/v1", "StatefulSet")}, "0s"},
		"of a StatefulSet, which is news":    {time.Hour, []func(*Snapshot){controller("apps/v1", "StatefulSet"), func(s *Snapshot) { s.Early = true }}, "NotReplaced 0s"},
		"of a Job":                           {due, []func(*Snapshot){controller("batch/v1", "Job")}, "NotReplaced 0s"},
		"of a ReplicationController":         {due, []func(*Snapshot){controller("v1", "ReplicationController")}, "1 1m0s GivenUp deleted 0s"},
		"of a kind like it":                  {due, []func(*Snapshot){controller("example.com/v1", "ReplicaSet")}, "NotReplaced 0s"},
		"of nobody":                          {due, []func(*Snapshot){func(s *Snapshot) { s.Pod.OwnerReferences = nil }}, "NotReplaced 0s"},
		"with claims":                        {due, []func(*Snapshot){claims}, "NotReplaced 0s"},
		"it tolerates all virtual nodes":     {due, []func(*Snapshot){tolerates(v1alpha1.TaintVirtualNode)}, "NotReplaced 0s"},
		"it tolerates everything":            {due, []func(*Snapshot){tolerates("")}, "NotReplaced 0s"},
		"others take it":                     {due, []func(*Snapshot){remote}, "1 1m0s GivenUp deleted 0s"},
		"others take it, of its region":      {due, []func(*Snapshot){remote, selects("us")}, "1 1m0s GivenUp deleted 0s"},
		"others are of another region":       {due, []func(*Snapshot){remote, selects("asia")}, "NotReplaced 0s"},
		"here are no such nodes, maybe":      {due, []func(*Snapshot){selects("asia")}, "NotReplaced 0s"},
		"it runs on virtual nodes only":      {due, []func(*Snapshot){virtual}, "NotReplaced 0s"},
		"others are away":                    {due, []func(*Snapshot){remote, func(s *Snapshot) { s.Nodes = nil }}, "NotReplaced 0s"},
		"others are cordoned":                {due, []func(*Snapshot){remote, func(s *Snapshot) { s.Nodes["us"][0].Spec.Unschedulable = true }}, "NotReplaced 0s"},
		"others are tainted":                 {due, []func(*Snapshot){remote, taint}, "NotReplaced 0s"},
		"it tolerates the taint of others":   {due, []func(*Snapshot){remote, taint, tolerates("gpu")}, "1 1m0s GivenUp deleted 0s"},
		"others take larger ones not":        {due, []func(*Snapshot){remote, fulls(full("us", "3", 1, 0))}, "1 1m0s GivenUp deleted 0s"},
		"no other takes it":                  {due, []func(*Snapshot){remote, fulls(full("us", "2", 1, 20*time.Second))}, "NotReplaced 40s"},
		"no other takes it, still":           {time.Hour, []func(*Snapshot){remote, fulls(full("us", "2", 1, 20*time.Second))}, "40s"},
		"another takes it again":             {time.Hour, []func(*Snapshot){remote, fulls(full("us", "2", 1, time.Minute))}, "1 1m0s GivenUp deleted 0s"},
		"the clock was set back":             {-time.Hour, nil, "5m0s"},
		"the clock was set back for a while": {-time.Hour, []func(*Snapshot){func(s *Snapshot) { s.Seen = builder.Epoch.Add(-due) }}, "1 1m0s GivenUp deleted 0s"},
		"a new node may come":                {due, []func(*Snapshot){grows(unschedulableHere, noRoom)}, "5m0s"},
		"a new node has not come":            {2 * due, []func(*Snapshot){grows(unschedulableHere, noRoom)}, "1 1m0s GivenUp deleted 0s"},
		"no new node comes":                  {time.Second, []func(*Snapshot){grows(v1alpha1.ReasonNoNewNode, noRoom)}, "1 1m0s GivenUp deleted 0s"},
		"a quota is no lack of nodes":        {due, []func(*Snapshot){grows(v1alpha1.ReasonRejected, "exceeded quota: full"), func(s *Snapshot) { s.Pod.Annotations = nil }}, "1 1m0s GivenUp deleted 0s"},
		"a new node of its group may come":   {due, []func(*Snapshot){grows(v1alpha1.ReasonTooBig, noRoom, "2")}, "5m0s"},
		"it is larger than a new node":       {due, []func(*Snapshot){grows(v1alpha1.ReasonTooBig, noRoom, "1")}, "1 1m0s GivenUp deleted 0s"},
		"its group does not grow":            {due, []func(*Snapshot){grows(unschedulableHere, noRoom, "2"), func(s *Snapshot) { s.Group = field.Group{"zone": nil} }}, "1 1m0s GivenUp deleted 0s"},
		"no new node is like it":             {time.Second, []func(*Snapshot){grows(v1alpha1.ReasonNoNewNode, "1 node(s) didn't match Pod's node affinity/selector")}, "NotReplaced 0s"},
		"it runs":                            {due, []func(*Snapshot){runs(0)}, "0s"},
		"it runs where others were refused":  {due, []func(*Snapshot){runs(0), fulls(full("eu", "2", 1, time.Second))}, "none 0s"},
		"it has run before":                  {due, []func(*Snapshot){runs(time.Minute), fulls(full("eu", "2", 1, time.Second))}, "0s"},
		"it runs, and larger ones do not":    {due, []func(*Snapshot){runs(0), fulls(full("eu", "3", 1, time.Second))}, "0s"},
	} {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team").Obj()
			nso.Generation, nso.Spec.Overflow = 1, []v1alpha1.OverflowTier{{Local: true}, {}, {}}
			nso.Status = v1alpha1.NamespaceOffloadingStatus{ObservedGeneration: 1, Overflow: []v1alpha1.OverflowTierStatus{{}, {Clusters: []string{"eu"}}, {Clusters: []string{"us"}}}}
			nso.Spec.Unschedulable = &v1alpha1.Unschedulable{}
			s := Snapshot{Pod: refused(test.ago), Binding: &v1alpha1.ClusterBinding{}, Offloading: nso, Seen: builder.Epoch, Now: builder.Epoch,
				Nodes: map[string][]*corev1.Node{"eu": {{}}, "us": {{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"region": "us"}}}}}}
			s.Binding.Spec.ClusterID = "eu"
			for _, change := range test.change {
				change(&s)
			}
			due, wait := Due(s)
			plan := Plan{RecheckAfter: wait}
			if due {
				plan = Decide(s)
			}
			got := said(t, plan)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, plan.Message)
			}
			if plan.Status == nil {
				return
			}
			s.Offloading.Status = *plan.Status
			if due, _ := Due(s); !due {
				return
			}
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
		if len(plan.Status.Full) == 0 {
			words = append(words, "none")
		}
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

// TestEarly: it is news that a pod is due if it was not, or if its namespace did not ask for that.
func TestEarly(t *testing.T) {
	nso := builder.Offloading("team").Obj()
	early := func(ago time.Duration) bool {
		return Early(Snapshot{Pod: refused(ago), Offloading: nso, Seen: builder.Epoch, Now: builder.Epoch})
	}
	if !early(time.Hour) {
		t.Error("without spec.unschedulable, a pod is due")
	}
	nso.Spec.Overflow, nso.Spec.Unschedulable = []v1alpha1.OverflowTier{{}}, &v1alpha1.Unschedulable{}
	if early(time.Hour) || !early(time.Minute) {
		t.Error("a pod is early after an hour, or not after a minute")
	}
}

func TestWaits(t *testing.T) {
	nso := builder.Offloading("team").Obj()
	nso.Spec.Overflow, nso.Spec.Unschedulable = []v1alpha1.OverflowTier{{}}, &v1alpha1.Unschedulable{}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"its provider has no room":          {func(*corev1.Pod) {}, true},
		"it is refused for what it is":      {func(p *corev1.Pod) { p.Status.Conditions[0].Message = "violates PodSecurity" }, false},
		"it stays, because nobody makes it": {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"it runs":                           {func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodRunning} }, false},
	} {
		pod := refused(0)
		if test.change(pod); Waits(pod, nso) != test.want {
			t.Errorf("%s: %v", name, Waits(pod, nso))
		}
	}
	if nso.Spec.Unschedulable = nil; Waits(refused(0), nso) {
		t.Error("a pod waits that is never replaced")
	}
}

func TestConfirmed(t *testing.T) {
	sent := refused(0)
	sent.Annotations = map[string]string{v1alpha1.AnnotationRemoteNamespace: "there", v1alpha1.AnnotationRemoteName: "web", v1alpha1.AnnotationRemoteUID: "r", v1alpha1.AnnotationRemoteFor: "1"}
	remote := func(uid types.UID, node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: corev1.PodSpec{NodeName: node}}
	}
	going := remote("r", "")
	going.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}
	for name, test := range map[string]struct {
		local, remote *corev1.Pod
		want          bool
	}{
		"refused, and not there":        {refused(0), nil, true},
		"refused, and there meanwhile":  {refused(0), remote("r", ""), false},
		"it waits there":                {sent, remote("r", ""), true},
		"it has a node there meanwhile": {sent, remote("r", "n"), false},
		"another one is there":          {sent, remote("other", ""), false},
		"it is being deleted there":     {sent, going, false},
		"it is gone there":              {sent, nil, false},
	} {
		if got := Confirmed(test.local, test.remote); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	nso := builder.Offloading("team").Obj()
	nso.Status.RemoteNamespaceConditions = []v1alpha1.RemoteNamespaceStatus{{Cluster: "us", RemoteNamespace: "no"}, {Cluster: "eu", RemoteNamespace: "team-home"}}
	for want, pod := range map[string]*corev1.Pod{"there/web": sent, "team-home/web-1": refused(0)} {
		if got := Remote(pod, nso, "eu").String(); got != want {
			t.Errorf("it is looked for at %s, want %s", got, want)
		}
	}
}
