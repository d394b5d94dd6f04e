package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// test/admission has the large table, which it also runs against the policy. These cases show what is broken
// without an API server.

var (
	virtual = []corev1.NodeSelectorRequirement{{Key: "spillway.io/node-type", Operator: "In", Values: []string{"virtual"}}}
	local   = []corev1.NodeSelectorRequirement{{Key: "spillway.io/node-type", Operator: "DoesNotExist"}}
	ssd     = []corev1.NodeSelectorRequirement{{Key: "disk", Operator: "In", Values: []string{"ssd"}}}
	eu      = []corev1.NodeSelectorRequirement{{Key: "region", Operator: "In", Values: []string{"eu"}}}
	nfs     = []corev1.NodeSelectorRequirement{{Key: "spillway.io/volume-nfs", Operator: "Exists"}}
	toEU    = &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{
		MatchExpressions: []v1alpha1.ClusterSelectorRequirement{{Key: "region", Operator: "In", Values: []string{"eu"}}}}}}
	toAny = corev1.Toleration{Key: "spillway.io/virtual-node", Operator: "Exists", Effect: "NoSchedule"}
)

func term(requirements ...[]corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: slices.Concat(requirements...)}
}

func terms(of ...corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm { return of }

func requiring(of ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: of}}}
	}
}

func tolerating(t corev1.Toleration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Tolerations = append(pod.Spec.Tolerations, t) }
}

func onHostNetwork(pod *corev1.Pod) { pod.Spec.HostNetwork = true }

// apart requires anti-affinity over zones, and over a key twice.
func apart(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: key}, {TopologyKey: corev1.LabelTopologyZone}, {TopologyKey: key}}}}
	}
}

func preferringLocal(pod *corev1.Pod) { Plan{Preferred: preference()}.Apply(pod) }

func withNFS(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}}}
}

func withClaim(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
}

func TestDecide(t *testing.T) {
	const remote, both, first = v1alpha1.PodsRemote, v1alpha1.PodsLocalAndRemote, v1alpha1.PodsLocalFirst
	everything := corev1.Toleration{Operator: "Exists"}
	many := slices.Repeat([]corev1.NodeSelectorTerm{term(ssd, []corev1.NodeSelectorRequirement{{Key: "k", Operator: "In", Values: []string{strings.Repeat("v", 63)}}})}, 1024)
	for name, test := range map[string]struct {
		strategy v1alpha1.PodOffloadingStrategy
		selector *v1alpha1.ClusterSelector
		pod      []func(*corev1.Pod)
		want     Plan
	}{
		"Local":                   {v1alpha1.PodsLocal, toEU, nil, Plan{}},
		"no strategy":             {"", toEU, nil, Plan{}},
		"Remote":                  {remote, nil, nil, Plan{Toleration: &toAny, Required: terms(term(virtual))}},
		"Remote, selector":        {remote, toEU, nil, Plan{Toleration: &toAny, Required: terms(term(virtual, eu))}},
		"LocalAndRemote":          {both, nil, nil, Plan{Toleration: &toAny}},
		"LocalAndRemote, selects": {both, toEU, nil, Plan{Toleration: &toAny, Required: terms(term(virtual, eu), term(local))}},
		"LocalFirst":              {first, nil, nil, Plan{Toleration: &toAny, Preferred: preference()}},
		"LocalFirst, it does":     {first, nil, []func(*corev1.Pod){preferringLocal}, Plan{Toleration: &toAny}},
		"claim":                   {both, toEU, []func(*corev1.Pod){withClaim}, Plan{Required: terms(term(virtual, eu), term(local))}},
		"claim, LocalFirst":       {first, nil, []func(*corev1.Pod){withClaim}, Plan{Preferred: preference()}},
		"claim, Remote":           {remote, nil, []func(*corev1.Pod){withClaim}, Plan{Toleration: &toAny, Required: terms(term(virtual))}},
		"its own affinity":        {both, toEU, []func(*corev1.Pod){requiring(term(ssd))}, Plan{Toleration: &toAny, Required: terms(term(ssd, virtual, eu), term(ssd, local))}},
		"nowhere":                 {remote, nil, []func(*corev1.Pod){requiring(term(), term(ssd))}, Plan{Toleration: &toAny, Required: terms(term(), term(ssd, virtual))}},
		"again":                   {remote, toEU, []func(*corev1.Pod){requiring(term(ssd, virtual, eu)), tolerating(toAny)}, Plan{Required: terms(term(ssd, virtual, eu))}},
		"too large":               {remote, toEU, []func(*corev1.Pod){requiring(many...)}, Plan{}},
		"apart by host":           {both, toEU, []func(*corev1.Pod){apart(corev1.LabelHostname)}, Plan{Toleration: &toAny, Required: terms(term(virtual, eu), term(local))}},
		"apart by host, Remote":   {remote, nil, []func(*corev1.Pod){apart(corev1.LabelHostname)}, Plan{Toleration: &toAny, Required: terms(term(virtual)), ByHost: []int{0, 2}}},
		"apart in providers":      {remote, nil, []func(*corev1.Pod){apart(v1alpha1.TopologyHost)}, Plan{Toleration: &toAny, Required: terms(term(virtual))}},
		"tolerates all":           {both, nil, []func(*corev1.Pod){tolerating(everything)}, Plan{}},
		"tolerates one":           {both, nil, []func(*corev1.Pod){tolerating(corev1.Toleration{Key: "spillway.io/virtual-node", Value: "eu"})}, Plan{Toleration: &toAny}},
		"tolerates NoExecute": {both, nil, []func(*corev1.Pod){tolerating(corev1.Toleration{Key: "spillway.io/virtual-node", Operator: "Exists", Effect: "NoExecute"})},
			Plan{Toleration: &toAny}},
		"never sent":                {first, toEU, []func(*corev1.Pod){onHostNetwork}, Plan{}},
		"never sent, tolerates all": {first, toEU, []func(*corev1.Pod){onHostNetwork, tolerating(everything)}, Plan{Required: terms(term(local))}},
		"never sent, Remote":        {remote, nil, []func(*corev1.Pod){onHostNetwork}, Plan{Toleration: &toAny, Required: terms(term(virtual))}},
		"describes a volume":        {both, nil, []func(*corev1.Pod){withNFS}, Plan{Toleration: &toAny, Required: terms(term(virtual, nfs), term(local))}},
		"describes one, Remote":     {remote, nil, []func(*corev1.Pod){withNFS}, Plan{Toleration: &toAny, Required: terms(term(virtual))}},
		"bound":                     {remote, nil, []func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.NodeName = "n" }}, Plan{}},
		"of a DaemonSet":            {remote, nil, []func(*corev1.Pod){func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet"}} }}, Plan{}},
		"of a ReplicaSet": {remote, nil, []func(*corev1.Pod){func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet"}} }},
			Plan{Toleration: &toAny, Required: terms(term(virtual))}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			for _, change := range test.pod {
				change(pod)
			}
			nso := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: test.strategy, ClusterSelector: test.selector}}
			plan := Decide(pod, nso)
			if diff := cmp.Diff(test.want, plan, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if plan.Empty() != cmp.Equal(test.want, Plan{}) {
				t.Errorf("it is empty: %t", plan.Empty())
			}
			plan.Apply(pod)
			again := Decide(pod, nso)
			again.Apply(pod.DeepCopy())
			if again.Toleration != nil || again.Preferred != nil || again.ByHost != nil || !cmp.Equal(again.Required, plan.Required, cmpopts.EquateEmpty()) {
				t.Errorf("a pod that has been here before gets %+v", again)
			}
		})
	}
}

// TestNothingToDecide tests offloadings that do not exist, or are being deleted.
func TestNothingToDecide(t *testing.T) {
	now := metav1.Now()
	deleted := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Spec: v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote}}
	for name, nso := range map[string]*v1alpha1.NamespaceOffloading{"none": nil, "deleted": deleted} {
		if plan := Decide(&corev1.Pod{}, nso); !plan.Empty() {
			t.Errorf("%s: %+v", name, plan)
		}
	}
}

// TestApply checks that Apply keeps what the pod already has.
func TestApply(t *testing.T) {
	pod := &corev1.Pod{}
	preferringLocal(pod)
	tolerating(corev1.Toleration{Key: "gpu"})(pod)
	Plan{Toleration: &toAny, Required: terms(term(virtual)), Preferred: &corev1.PreferredSchedulingTerm{Weight: 1}}.Apply(pod)
	want := &corev1.Pod{Spec: corev1.PodSpec{
		Tolerations: []corev1.Toleration{{Key: "gpu"}, toAny},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{NodeSelectorTerms: terms(term(virtual))},
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{*preference(), {Weight: 1}},
		}},
	}}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
