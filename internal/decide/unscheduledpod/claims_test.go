package unscheduledpod

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestDecideClaims tests pods that name claims. The admission policy does not add the toleration to these.
func TestDecideClaims(t *testing.T) {
	const waits = "the pod waits for one of the consumer's own nodes; providers can run it once all its claims are bound to volumes that can be sent: PersistentVolumeClaim data is not bound to a volume yet"
	const chosen = "PersistentVolumeClaim data has no volume, and the scheduler waits for one on virtual node spillway-eu, where CSI drivers can rarely provision one: "
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
		}
	}
	claim := volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}})
	nfs := volume(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}})
	older := func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(builder.Epoch.Add(-time.Hour)) }
	tolerant := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: taint, Operator: corev1.TolerationOpExists}}
	}
	keptTo := func(keys ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpIn, Values: []string{v1alpha1.NodeTypeVirtual}}}}
			for _, key := range keys {
				term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpExists})
			}
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}}
		}
	}
	unbound := persistentvolumeclaim.NotBound(&metav1.ObjectMeta{Name: "data"})
	ready, fresh, stuck := Claim{Name: "data"}, Claim{Name: "data", Refusal: unbound}, Claim{Name: "data", Refusal: unbound, SelectedNode: "spillway-eu"}
	created := func(in ...string) Claim { return Claim{Name: "data", Refusal: unbound, Providers: in} }
	for name, test := range map[string]struct {
		strategy v1alpha1.PodOffloadingStrategy
		pod      []func(*corev1.Pod)
		claims   []Claim
		age      time.Duration
		want     Plan // Once the scheduler has found no node.
	}{
		"fresh":                   {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim}, []Claim{fresh}, 0, Plan{Reason: ReasonStaysLocal, Message: waits}},
		"fresh, LocalFirst":       {v1alpha1.PodsLocalFirst, []func(*corev1.Pod){claim}, []Claim{fresh}, 0, Plan{Reason: ReasonStaysLocal, Message: waits}},
		"one is":                  {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim}, []Claim{{Name: "a"}, fresh}, 0, Plan{Reason: ReasonStaysLocal, Message: waits}},
		"bound":                   {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim}, []Claim{ready}, 0, Plan{Tolerations: []corev1.Toleration{of("eu")}}},
		"bound, it tolerates it":  {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim, tolerant}, []Claim{ready}, time.Hour, Plan{}},
		"fresh, older":            {v1alpha1.PodsRemote, []func(*corev1.Pod){claim, older}, []Claim{fresh}, 0, Plan{Reason: ReasonStaysLocal, Message: waits}},
		"fresh, Remote":           {v1alpha1.PodsRemote, []func(*corev1.Pod){claim, tolerant}, []Claim{fresh}, time.Hour, Plan{}},
		"chosen":                  {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim}, []Claim{stuck}, time.Hour, Plan{Reason: ReasonStaysLocal, Message: waits}},
		"chosen just now":         {v1alpha1.PodsRemote, []func(*corev1.Pod){claim, tolerant}, []Claim{stuck}, 10 * time.Second, Plan{RecheckAfter: 20 * time.Second}},
		"to be created there":     {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim}, []Claim{ready, created("us", "eu")}, 0, Plan{Tolerations: []corev1.Toleration{of("eu")}}},
		"to be created elsewhere": {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim}, []Claim{created("us")}, 0, Plan{Reason: ReasonStaysLocal, Message: waits}},
		"to be created there, beside another one": {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim}, []Claim{created("eu"), fresh}, 0, Plan{Reason: ReasonStaysLocal, Message: waits}},
		"being created there":                     {v1alpha1.PodsRemote, []func(*corev1.Pod){claim, tolerant}, []Claim{{Name: "data", Refusal: unbound, SelectedNode: "spillway-eu", Providers: []string{"eu"}}}, time.Minute, Plan{}},
		"describes volumes, too":                  {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim, nfs, keptTo("spillway.io/volume-nfs")}, []Claim{ready}, 0, Plan{Tolerations: []corev1.Toleration{of("eu")}}},
		"describes, and is not kept":              {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim, nfs, keptTo()}, []Claim{ready}, 0, Plan{Reason: ReasonStaysLocal, Message: whyDescribed}},
		"chosen, it tolerates it": {v1alpha1.PodsLocalAndRemote, []func(*corev1.Pod){claim, tolerant}, []Claim{ready, stuck}, time.Minute,
			Plan{Reason: field.ReasonClaimNotBound, Warns: true, Message: chosen + "delete the pod, and its replacement starts on one of the consumer's own nodes"}},
		"chosen, Remote": {v1alpha1.PodsRemote, []func(*corev1.Pod){claim, tolerant}, []Claim{stuck}, time.Minute, Plan{Reason: field.ReasonClaimNotBound, Warns: true, Message: chosen +
			"with podOffloadingStrategy Remote, a claim must be bound to a volume first; with LocalAndRemote or LocalFirst, new pods start on the consumer's own nodes"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := waiting(func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(builder.Epoch) })
			for _, change := range test.pod {
				change(pod)
			}
			nso, now := builder.Offloading("team").Pods(test.strategy).Obj(), builder.Epoch.Add(test.age)
			if before := Decide(pod, nso, []string{"eu"}, test.claims, now); before.Reason == ReasonStaysLocal {
				t.Errorf("before the scheduler has looked at it: %q", before.Message)
			}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
			if diff := cmp.Diff(test.want, Decide(pod, nso, []string{"eu"}, test.claims, now), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

const whyDescribed = "the pod has inline volumes, which a provider must allow (label spillway.io/volume-nfs of its virtual node), but its affinity is immutable: " +
	"it waits for one of the consumer's own nodes; delete it so that its controller recreates it"
