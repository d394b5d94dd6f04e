package unscheduledpod

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// reported returns a pod that the scheduler has found no node for, for that long. It has tried it in generation seen.
func reported(ago time.Duration, seen int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: metav1.NewTime(builder.Epoch.Add(-ago)), ObservedGeneration: seen}}
	}
}

// opened returns a pod for which a tier with these providers was opened so long ago.
func opened(tier int, ago time.Duration, ids ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Generation++
		p.Spec.Tolerations = append(p.Spec.Tolerations, admission.Missing(p, ids)...)
		before := spill.ParseOpened(p.Annotations[v1alpha1.AnnotationOverflow])
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationOverflow, before.With(tier, builder.Epoch.Add(-ago)).String())
	}
}

// TestOverflow decides about a pod as the controller does: first which tiers it may use, then what it gets.
func TestOverflow(t *testing.T) {
	tiers := []spill.Tier{{Local: true}, {Clusters: []string{"eu", "eu2"}, After: 10 * time.Second}, {Clusters: []string{"us"}, After: time.Minute}}
	now := builder.Epoch
	gated := func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }
	for name, test := range map[string]struct {
		pod  []func(*corev1.Pod)
		want string // The clusterIDs that are added, the reason, the annotation, and when to decide again.
	}{
		"not tried":                 {nil, " 0s"},
		"tried just now":            {[]func(*corev1.Pod){reported(4*time.Second, 1)}, " 6s"},
		"gated":                     {[]func(*corev1.Pod){reported(time.Hour, 1), gated}, " 0s"},
		"no room for long enough":   {[]func(*corev1.Pod){reported(10*time.Second, 1)}, "eu, eu2 TierOpened 1=2026-01-02T03:04:05Z 0s"},
		"no observed generation":    {[]func(*corev1.Pod){reported(10*time.Second, 0)}, "eu, eu2 TierOpened 1=2026-01-02T03:04:05Z 0s"},
		"the next tier is open":     {[]func(*corev1.Pod){reported(40*time.Second, 2), opened(1, 30*time.Second, "eu", "eu2")}, "1=2026-01-02T03:03:35Z 30s"},
		"it has not been tried":     {[]func(*corev1.Pod){reported(80*time.Second, 1), opened(1, 70*time.Second, "eu", "eu2")}, "1=2026-01-02T03:02:55Z 50s"},
		"others make room for it":   {[]func(*corev1.Pod){reported(10*time.Second, 1), func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }}, " 1m0s"},
		"no room there either":      {[]func(*corev1.Pod){reported(80*time.Second, 2), opened(1, 70*time.Second, "eu", "eu2")}, "us TierOpened 1=2026-01-02T03:02:55Z,2=2026-01-02T03:04:05Z 0s"},
		"a provider is new":         {[]func(*corev1.Pod){reported(40*time.Second, 2), opened(1, 30*time.Second, "eu")}, "eu2 TierOpened 1=2026-01-02T03:04:05Z 0s"},
		"no room anywhere":          {[]func(*corev1.Pod){reported(80*time.Second, 3), opened(1, 70*time.Second, "eu", "eu2"), opened(2, 10*time.Second, "us")}, "FitsNoTier 1=2026-01-02T03:02:55Z,2=2026-01-02T03:03:55Z 0s"},
		"it tolerates all anyway":   {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: "Exists"}} }}, "FitsNoTier 0s"},
		"it can never be sent":      {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.Spec.HostNetwork = true }}, "StaysLocal 0s"},
		"it is of a DaemonSet":      {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }}, " 0s"},
		"it has got a node":         {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.Spec.NodeName = "n" }}, " 0s"},
		"it is being deleted":       {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }}, " 0s"},
		"its annotation is garbage": {[]func(*corev1.Pod){reported(10*time.Second, 1), func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationOverflow: "9,x"} }}, "eu, eu2 TierOpened 1=2026-01-02T03:04:05Z 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team").Obj()
			nso.Spec.Overflow = make([]v1alpha1.OverflowTier, len(tiers))
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Generation: 1, CreationTimestamp: metav1.NewTime(now),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "1", Controller: new(bool)}}}}
			*pod.OwnerReferences[0].Controller = true
			for _, change := range test.pod {
				change(pod)
			}
			next := spill.Next(tiers, Waiting(pod), now)
			plan := Ordered(Decide(pod, nso, spill.Open(tiers, next.Tier), nil, now), pod, tiers, next, now)
			annotation := pod.Annotations[v1alpha1.AnnotationOverflow]
			if plan.Opened != "" {
				annotation = plan.Opened
			}
			if annotation == "9,x" {
				annotation = ""
			}
			got := strings.Join(strings.Fields(strings.Join([]string{clusterIDs(plan.Tolerations), plan.Reason, annotation}, " ")), " ") + " " + plan.RecheckAfter.String()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%+v", diff, plan)
			}
			if (plan.Reason == "") != (plan.Message == "") {
				t.Errorf("reason %q, message %q", plan.Reason, plan.Message)
			}
		})
	}
}

func TestLeftOut(t *testing.T) {
	for name, test := range map[string]struct {
		reason, said, want string
	}{
		"none is":             {v1alpha1.ReasonFitsNoTier, "", "FitsNoTier: m"},
		"one is, and no room": {v1alpha1.ReasonFitsNoTier, "eu", "ProvidersFull: the scheduler finds no room for the pod where it may go, and other providers of spec.overflow are left out: eu"},
		"a tier opens":        {v1alpha1.ReasonTierOpened, "eu", "TierOpened: m; eu"},
	} {
		plan := LeftOut(Plan{Reason: test.reason, Message: "m"}, test.said)
		if got := plan.Reason + ": " + plan.Message; got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestOverflowOfSpecialPods decides about pods that not every provider takes.
func TestOverflowOfSpecialPods(t *testing.T) {
	now := builder.Epoch
	here, eu, us := spill.Tier{Local: true}, spill.Tier{Clusters: []string{"eu"}, After: 10 * time.Second}, spill.Tier{Clusters: []string{"us"}, After: 10 * time.Second}
	both := spill.Tier{Clusters: []string{"eu", "eu2"}, After: 10 * time.Second}
	remote, local := []spill.Tier{eu, us}, []spill.Tier{here, eu, us}
	virtual := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{admission.OnVirtual}}}}}}
	}
	hostPort := func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: 80}}}}
	}
	nfs := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}}}
	}
	claim := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	}
	devices := func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }
	unbound := func(providers ...string) []Claim {
		return []Claim{{Name: "c", Refusal: &field.Problem{Reason: field.ReasonClaimNotBound, Message: "it has no volume"}, Providers: providers}}
	}
	waits := reported(20*time.Second, 1)
	for name, test := range map[string]struct {
		tiers  []spill.Tier
		pod    []func(*corev1.Pod)
		claims []Claim
		want   string
	}{
		"Remote, beyond baseline":           {remote, []func(*corev1.Pod){virtual, hostPort, opened(0, 20*time.Second, "eu"), reported(20*time.Second, 2)}, nil, "us TierOpened"},
		"Remote, without a first tier":      {remote, []func(*corev1.Pod){virtual, hostPort}, nil, "eu TierOpened"},
		"Remote, with a volume of its own":  {remote, []func(*corev1.Pod){virtual, nfs, opened(0, 20*time.Second, "eu"), reported(20*time.Second, 2)}, nil, "us TierOpened"},
		"Remote, with an unbound claim":     {remote, []func(*corev1.Pod){virtual, claim, opened(0, 20*time.Second, "eu"), reported(20*time.Second, 2)}, unbound(), "us TierOpened"},
		"Remote, what no provider can run":  {remote, []func(*corev1.Pod){virtual, devices, waits}, nil, " StaysLocal"},
		"local, beyond baseline":            {local, []func(*corev1.Pod){hostPort, waits}, nil, " StaysLocal"},
		"local, with an unbound claim":      {local, []func(*corev1.Pod){claim, waits}, unbound(), " StaysLocal"},
		"only the last can make its volume": {local, []func(*corev1.Pod){claim, waits}, unbound("us"), "us TierOpened"},
		"one of a tier can make its volume": {[]spill.Tier{here, both}, []func(*corev1.Pod){claim, waits}, unbound("eu"), "eu TierOpened"},
		"and has no room":                   {[]spill.Tier{here, both}, []func(*corev1.Pod){claim, opened(1, 20*time.Second, "eu"), reported(40*time.Second, 2)}, unbound("eu"), " FitsNoTier"},
	} {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team").Obj()
			nso.Spec.Overflow = make([]v1alpha1.OverflowTier, len(test.tiers))
			if !test.tiers[0].Local {
				nso.Spec.PodOffloadingStrategy = v1alpha1.PodsRemote
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Generation: 1, CreationTimestamp: metav1.NewTime(now)}}
			for _, change := range test.pod {
				change(pod)
			}
			tiers := Able(test.tiers, test.claims)
			next := spill.Next(tiers, Waiting(pod), now)
			plan := Ordered(Decide(pod, nso, spill.Open(tiers, next.Tier), test.claims, now), pod, tiers, next, now)
			if got := clusterIDs(plan.Tolerations) + " " + plan.Reason; got != test.want {
				t.Errorf("got %q, want %q: %+v", got, test.want, plan)
			}
			if reported := spill.Next(Known(test.tiers, pod), Waiting(pod), now).FitsNone; reported != (plan.Reason == v1alpha1.ReasonFitsNoTier) {
				t.Errorf("the status says that it fits in no tier: %t", reported)
			}
		})
	}
}
