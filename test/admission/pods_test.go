package admission

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
)

// Requirements on labels and fields, abbreviated for the tables below.
var (
	virtual = in(v1alpha1.LabelNodeType, v1alpha1.NodeTypeVirtual)
	local   = corev1.NodeSelectorRequirement{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpDoesNotExist}
	eu      = in("region", "eu")
	us      = in("region", "us")
	gpu     = corev1.NodeSelectorRequirement{Key: "gpu", Operator: corev1.NodeSelectorOpExists}
	amd     = in("arch", "amd64")
	arm     = in("arch", "arm64")
	nodeEU  = in("metadata.name", "spillway-eu")
	notUS   = corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"spillway-us"}}
)

// Tolerations: Spillway's, and those that Kubernetes adds to every pod.
var (
	tolerateVirtual     = corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	tolerateNotReady    = tolerateForFiveMinutes(corev1.TaintNodeNotReady)
	tolerateUnreachable = tolerateForFiveMinutes(corev1.TaintNodeUnreachable)
	tolerateAll         = corev1.Toleration{Operator: corev1.TolerationOpExists}
)

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func tolerateForFiveMinutes(key string) corev1.Toleration {
	seconds := int64(300)
	return corev1.Toleration{
		Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
	}
}

// labels is a term with requirements on labels, fields one with requirements on fields.
func labels(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: requirements}
}

func fields(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: requirements}
}

// both is a term with the requirements of two terms.
func both(a, b corev1.NodeSelectorTerm) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{
		MatchExpressions: append(slices.Clone(a.MatchExpressions), b.MatchExpressions...),
		MatchFields:      append(slices.Clone(a.MatchFields), b.MatchFields...),
	}
}

// required is an affinity with these alternatives.
func required(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

// preferring adds preferences to an affinity.
func preferring(affinity *corev1.Affinity, terms ...corev1.PreferredSchedulingTerm) *corev1.Affinity {
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = terms
	return affinity
}

func prefer(weight int32, term corev1.NodeSelectorTerm) corev1.PreferredSchedulingTerm {
	return corev1.PreferredSchedulingTerm{Weight: weight, Preference: term}
}

// selecting is a clusterSelector with these alternatives.
func selecting(terms ...corev1.NodeSelectorTerm) *v1alpha1.ClusterSelector {
	selector := &v1alpha1.ClusterSelector{}
	for _, term := range terms {
		var t v1alpha1.ClusterSelectorTerm
		for _, r := range term.MatchExpressions {
			t.MatchExpressions = append(t.MatchExpressions,
				v1alpha1.ClusterSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
		}
		for _, r := range term.MatchFields {
			t.MatchFields = append(t.MatchFields,
				v1alpha1.ClusterFieldRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, t)
	}
	return selector
}

// podAffinity is another part of an affinity. It changes only under the strategy Remote.
var podAffinity = apartIn(corev1.LabelHostname)

// apartIn requires anti-affinity over a zone and over a key.
func apartIn(key string) *corev1.PodAntiAffinity {
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelTopologyZone, LabelSelector: web}, {TopologyKey: key, LabelSelector: web},
	}}
}

// ratherApart adds a preference for other hosts.
func ratherApart(affinity *corev1.PodAntiAffinity) *corev1.PodAntiAffinity {
	affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: podAffinity.RequiredDuringSchedulingIgnoredDuringExecution[1]})
	return affinity
}

// podCase is a pod in a namespace, and what the policy makes of it.
type podCase struct {
	strategy v1alpha1.PodOffloadingStrategy
	selector *v1alpha1.ClusterSelector
	// The pod.
	affinity    *corev1.Affinity
	tolerations []corev1.Toleration
	change      func(*corev1.Pod)
	// What becomes of it.
	want            *corev1.Affinity
	wantTolerations []corev1.Toleration // Spillway's toleration only, if nil.
	// untouched means that nothing may change.
	untouched bool
	// nodes are the nodes of TestPods that the pod may then be scheduled to.
	nodes []string
}

// Nodes that a pod could be scheduled to: two of the consumer's own, and the virtual nodes of two providers.
var nodes = []*corev1.Node{
	node("local-amd", map[string]string{"arch": "amd64"}),
	node("local-gpu", map[string]string{"arch": "arm64", "gpu": "yes", "region": "eu"}),
	node("spillway-eu", map[string]string{
		v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual, v1alpha1.LabelCluster: "eu", "region": "eu", "arch": "amd64",
	}),
	node("spillway-us", map[string]string{
		v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual, v1alpha1.LabelCluster: "us", "region": "us", "arch": "arm64", "gpu": "yes",
		v1alpha1.LabelVolumePrefix + "nfs": v1alpha1.VolumeAllowed, v1alpha1.LabelVolumePrefix + "csi": v1alpha1.VolumeAllowed,
	}),
}

func node(name string, labels map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if c := labels[v1alpha1.LabelCluster]; c != "" {
		n.Spec.Taints = []corev1.Taint{{Key: v1alpha1.TaintVirtualNode, Value: c, Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

var (
	everywhere  = []string{"local-amd", "local-gpu", "spillway-eu", "spillway-us"}
	localNodes  = []string{"local-amd", "local-gpu"}
	remoteNodes = []string{"spillway-eu", "spillway-us"}
	onlyEU      = []string{"spillway-eu"}
)

var podCases = map[string]podCase{
	// ---- strategies
	"Local": {strategy: v1alpha1.PodsLocal, selector: selecting(labels(eu)), untouched: true, nodes: localNodes},
	"Remote": {
		strategy: v1alpha1.PodsRemote,
		want:     required(labels(virtual)), nodes: remoteNodes,
	},
	"Remote, selector": {
		strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu)),
		want: required(labels(virtual, eu)), nodes: onlyEU,
	},
	"Remote, selector of two terms": {
		strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu, amd), labels(us, gpu)),
		want: required(labels(virtual, eu, amd), labels(virtual, us, gpu)), nodes: remoteNodes,
	},
	"Remote, selector of fields": {
		strategy: v1alpha1.PodsRemote, selector: selecting(fields(nodeEU)),
		want: required(both(labels(virtual), fields(nodeEU))), nodes: onlyEU,
	},
	"Remote, selector of labels and fields": {
		strategy: v1alpha1.PodsRemote, selector: selecting(both(labels(amd), fields(notUS))),
		want: required(both(labels(virtual, amd), fields(notUS))), nodes: onlyEU,
	},
	"Remote, empty selector": {
		strategy: v1alpha1.PodsRemote, selector: selecting(),
		want: required(labels(virtual)), nodes: remoteNodes,
	},
	"LocalAndRemote": {strategy: v1alpha1.PodsLocalAndRemote, nodes: everywhere},
	"LocalAndRemote, behind the gate of a queue": {strategy: v1alpha1.PodsLocalAndRemote, nodes: everywhere, change: func(p *corev1.Pod) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
	}},
	"LocalAndRemote, empty selector": {
		strategy: v1alpha1.PodsLocalAndRemote, selector: selecting(), nodes: everywhere,
	},
	"LocalAndRemote, selector": {
		strategy: v1alpha1.PodsLocalAndRemote, selector: selecting(labels(eu)),
		want: required(labels(virtual, eu), labels(local)), nodes: []string{"local-amd", "local-gpu", "spillway-eu"},
	},
	"LocalFirst": {
		strategy: v1alpha1.PodsLocalFirst,
		want:     preferring(nil, prefer(100, labels(local))), nodes: everywhere,
	},
	"LocalFirst, selector": {
		strategy: v1alpha1.PodsLocalFirst, selector: selecting(labels(us)),
		want:  preferring(required(labels(virtual, us), labels(local)), prefer(100, labels(local))),
		nodes: []string{"local-amd", "local-gpu", "spillway-us"},
	},

	// ---- the pod's own required affinity
	"Remote, one term": {
		strategy: v1alpha1.PodsRemote, affinity: required(labels(amd)),
		want: required(labels(amd, virtual)), nodes: onlyEU,
	},
	"Remote, selector, two terms": {
		strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu)),
		affinity: required(labels(amd), labels(gpu)),
		want:     required(labels(amd, virtual, eu), labels(gpu, virtual, eu)), nodes: onlyEU,
	},
	"Remote, two terms of the selector, two terms": {
		strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu), both(labels(us), fields(notUS))),
		affinity: required(labels(amd), both(labels(arm), fields(nodeEU))),
		want: required(
			labels(amd, virtual, eu), both(labels(amd, virtual, us), fields(notUS)),
			both(labels(arm, virtual, eu), fields(nodeEU)), both(labels(arm, virtual, us), fields(nodeEU, notUS)),
		),
		nodes: onlyEU,
	},
	"Remote, a term of fields": {
		strategy: v1alpha1.PodsRemote, affinity: required(fields(nodeEU)),
		want: required(both(fields(nodeEU), labels(virtual))), nodes: onlyEU,
	},
	"Remote, a local node by name": {
		strategy: v1alpha1.PodsRemote, affinity: required(fields(in("metadata.name", "local-amd"))),
		want: required(both(fields(in("metadata.name", "local-amd")), labels(virtual))), nodes: nil,
	},
	"LocalAndRemote, one term": {
		strategy: v1alpha1.PodsLocalAndRemote, affinity: required(labels(amd)),
		want: required(labels(amd)), nodes: []string{"local-amd", "spillway-eu"},
	},
	"LocalAndRemote, selector, two terms": {
		strategy: v1alpha1.PodsLocalAndRemote, selector: selecting(labels(eu)),
		affinity: required(labels(amd), labels(gpu)),
		want: required(
			labels(amd, virtual, eu), labels(amd, local), labels(gpu, virtual, eu), labels(gpu, local),
		),
		nodes: []string{"local-amd", "local-gpu", "spillway-eu"},
	},
	"LocalAndRemote, selector, the pod wants local nodes": {
		strategy: v1alpha1.PodsLocalAndRemote, selector: selecting(labels(eu)), affinity: required(labels(local)),
		want: required(labels(local)), nodes: localNodes,
	},
	"Remote, an empty term goes on matching nothing": {
		strategy: v1alpha1.PodsRemote, affinity: required(corev1.NodeSelectorTerm{}),
		want: required(corev1.NodeSelectorTerm{}), nodes: nil,
	},
	"LocalAndRemote, selector, an empty term among others": {
		strategy: v1alpha1.PodsLocalAndRemote, selector: selecting(labels(eu)),
		affinity: required(corev1.NodeSelectorTerm{}, labels(gpu)),
		want:     required(corev1.NodeSelectorTerm{}, labels(gpu, virtual, eu), labels(gpu, local)), nodes: []string{"local-gpu"},
	},

	// ---- other parts of the pod's affinity
	"Remote, empty affinity": {
		strategy: v1alpha1.PodsRemote, affinity: &corev1.Affinity{},
		want: required(labels(virtual)), nodes: remoteNodes,
	},
	"Remote, empty node affinity": {
		strategy: v1alpha1.PodsRemote, affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
		want: required(labels(virtual)), nodes: remoteNodes,
	},
	"Remote, affinity to pods": {
		strategy: v1alpha1.PodsRemote, affinity: &corev1.Affinity{PodAntiAffinity: podAffinity},
		want:  &corev1.Affinity{NodeAffinity: required(labels(virtual)).NodeAffinity, PodAntiAffinity: ratherApart(apartIn(v1alpha1.TopologyHost))},
		nodes: remoteNodes,
	},
	"Remote, affinity to pods, with preferences": {
		strategy: v1alpha1.PodsRemote, affinity: &corev1.Affinity{PodAntiAffinity: ratherApart(apartIn(corev1.LabelHostname))},
		want:  &corev1.Affinity{NodeAffinity: required(labels(virtual)).NodeAffinity, PodAntiAffinity: ratherApart(ratherApart(apartIn(v1alpha1.TopologyHost)))},
		nodes: remoteNodes,
	},
	"Remote, affinity to pods in providers": {
		strategy: v1alpha1.PodsRemote, affinity: &corev1.Affinity{PodAntiAffinity: apartIn(v1alpha1.TopologyHost)},
		want:  &corev1.Affinity{NodeAffinity: required(labels(virtual)).NodeAffinity, PodAntiAffinity: apartIn(v1alpha1.TopologyHost)},
		nodes: remoteNodes,
	},
	"Remote, preferences": {
		strategy: v1alpha1.PodsRemote, affinity: preferring(nil, prefer(7, labels(gpu))),
		want: preferring(required(labels(virtual)), prefer(7, labels(gpu))), nodes: remoteNodes,
	},
	"LocalFirst, preferences": {
		strategy: v1alpha1.PodsLocalFirst, affinity: preferring(nil, prefer(7, labels(gpu)), prefer(100, labels(eu))),
		want:  preferring(nil, prefer(7, labels(gpu)), prefer(100, labels(eu)), prefer(100, labels(local))),
		nodes: everywhere,
	},
	"LocalFirst, affinity to pods": {
		strategy: v1alpha1.PodsLocalFirst, affinity: &corev1.Affinity{PodAntiAffinity: podAffinity},
		want: &corev1.Affinity{
			NodeAffinity: preferring(nil, prefer(100, labels(local))).NodeAffinity, PodAntiAffinity: podAffinity,
		},
		nodes: everywhere,
	},
	"LocalFirst, prefers local nodes already": {
		strategy: v1alpha1.PodsLocalFirst, affinity: preferring(nil, prefer(100, labels(local)), prefer(1, labels(eu))),
		want: preferring(nil, prefer(100, labels(local)), prefer(1, labels(eu))), nodes: everywhere,
	},
	"LocalFirst, prefers local nodes a little": {
		strategy: v1alpha1.PodsLocalFirst, affinity: preferring(nil, prefer(1, labels(local))),
		want: preferring(nil, prefer(1, labels(local)), prefer(100, labels(local))), nodes: everywhere,
	},
	"Remote, node selector": {
		strategy: v1alpha1.PodsRemote,
		change:   func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"arch": "arm64"} },
		want:     required(labels(virtual)), nodes: []string{"spillway-us"},
	},

	// ---- created from a pod that the policy has already changed
	"Remote, again": {
		strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu), labels(gpu)),
		affinity:    required(labels(amd, virtual, eu), labels(amd, virtual, gpu)),
		tolerations: []corev1.Toleration{tolerateVirtual}, wantTolerations: []corev1.Toleration{tolerateVirtual},
		want: required(labels(amd, virtual, eu), labels(amd, virtual, gpu)), nodes: onlyEU,
	},
	"LocalFirst, again": {
		strategy: v1alpha1.PodsLocalFirst, selector: selecting(both(labels(eu), fields(notUS))),
		affinity:    preferring(required(both(labels(virtual, eu), fields(notUS)), labels(local)), prefer(100, labels(local))),
		tolerations: []corev1.Toleration{tolerateVirtual}, wantTolerations: []corev1.Toleration{tolerateVirtual},
		want:  preferring(required(both(labels(virtual, eu), fields(notUS)), labels(local)), prefer(100, labels(local))),
		nodes: []string{"local-amd", "local-gpu", "spillway-eu"},
	},
	"Remote, after the selector was narrowed": {
		strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu)), affinity: required(labels(virtual)),
		want: required(labels(virtual, virtual, eu)), nodes: onlyEU,
	},

	// ---- tolerations
	"tolerates virtual nodes with any effect": {
		strategy:        v1alpha1.PodsLocalAndRemote,
		tolerations:     []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}},
		wantTolerations: []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}},
		nodes:           everywhere,
	},
	"tolerates every taint": {
		strategy: v1alpha1.PodsLocalAndRemote, tolerations: []corev1.Toleration{tolerateAll},
		wantTolerations: []corev1.Toleration{tolerateAll}, nodes: everywhere,
	},
	"tolerates every taint against scheduling": {
		strategy:        v1alpha1.PodsLocalAndRemote,
		tolerations:     []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		wantTolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		nodes:           everywhere,
	},
	"tolerates another effect": {
		strategy:    v1alpha1.PodsLocalAndRemote,
		tolerations: []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		wantTolerations: []corev1.Toleration{
			{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, tolerateVirtual,
		},
		nodes: everywhere,
	},
	"tolerates one virtual node": {
		strategy:    v1alpha1.PodsLocalAndRemote,
		tolerations: []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Value: "eu", Effect: corev1.TaintEffectNoSchedule}},
		wantTolerations: []corev1.Toleration{
			{Key: v1alpha1.TaintVirtualNode, Value: "eu", Effect: corev1.TaintEffectNoSchedule}, tolerateVirtual,
		},
		nodes: everywhere,
	},
	"tolerates other taints": {
		strategy:        v1alpha1.PodsLocalAndRemote,
		tolerations:     []corev1.Toleration{{Key: "example.com/gpu", Operator: corev1.TolerationOpExists}},
		wantTolerations: []corev1.Toleration{{Key: "example.com/gpu", Operator: corev1.TolerationOpExists}, tolerateVirtual},
		nodes:           everywhere,
	},

	// ---- pods that the policy leaves alone
	"bound already": {
		strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu)), affinity: required(labels(amd)),
		change:    func(p *corev1.Pod) { p.Spec.NodeName = "local-amd" },
		untouched: true, nodes: []string{"local-amd"},
	},
	"of a DaemonSet": {
		strategy: v1alpha1.PodsRemote, affinity: required(fields(in("metadata.name", "local-amd"))),
		change: func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "1"}}
		},
		untouched: true, nodes: []string{"local-amd"},
	},
	"of a ReplicaSet": {
		strategy: v1alpha1.PodsRemote,
		change: func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "1"}}
		},
		want: required(labels(virtual)), nodes: remoteNodes,
	},
}

func TestPods(t *testing.T) {
	for name, test := range podCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run(t)
		})
	}
}

// pod returns the pod as it is sent.
func (test podCase) pod(namespace string) *corev1.Pod {
	pod := newPod(namespace)
	pod.Spec.Affinity, pod.Spec.Tolerations = test.affinity.DeepCopy(), slices.Clone(test.tolerations)
	if test.change != nil {
		test.change(pod)
	}
	return pod
}

// run creates the pod, and compares the results of the policy and of the webhook's decision.
func (test podCase) run(t *testing.T) {
	t.Helper()
	offloading := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{
		PodOffloadingStrategy: test.strategy, ClusterSelector: test.selector,
	}}
	pod := test.pod(offloaded(t, &offloading.Spec))
	decided := pod.DeepCopy()
	admission.Decide(decided, offloading).Apply(decided)
	test.compare(t, "by the webhook", decided)
	if err := server(t).Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	test.compare(t, "by the policy", pod)
}

// compare compares the result with the expected pod.
func (test podCase) compare(t *testing.T, by string, pod *corev1.Pod) {
	t.Helper()
	want := test.pod(pod.Namespace)
	switch {
	case test.untouched:
	case test.wantTolerations == nil:
		want.Spec.Affinity, want.Spec.Tolerations = test.want, []corev1.Toleration{tolerateVirtual}
	default:
		want.Spec.Affinity, want.Spec.Tolerations = test.want, test.wantTolerations
	}
	if diff := cmp.Diff(want.Spec.Affinity, pod.Spec.Affinity, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("affinity %s (-want +got):\n%s", by, diff)
	}
	if diff := cmp.Diff(want.Spec.Tolerations, ownTolerations(pod), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tolerations %s (-want +got):\n%s", by, diff)
	}
	if diff := cmp.Diff(test.nodes, possibleNodes(t, pod)); diff != "" {
		t.Errorf("nodes %s (-want +got):\n%s", by, diff)
	}
}

// ownTolerations returns the tolerations of a pod, without those that Kubernetes adds to every pod.
func ownTolerations(pod *corev1.Pod) []corev1.Toleration {
	return slices.DeleteFunc(slices.Clone(pod.Spec.Tolerations), func(t corev1.Toleration) bool {
		return cmp.Equal(t, tolerateNotReady) || cmp.Equal(t, tolerateUnreachable)
	})
}

// possibleNodes returns the nodes that are feasible for a pod to the scheduler. For a bound pod it returns
// the pod's node.
func possibleNodes(t *testing.T, pod *corev1.Pod) []string {
	t.Helper()
	if pod.Spec.NodeName != "" {
		return []string{pod.Spec.NodeName}
	}
	var names []string
	for _, n := range nodes {
		matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n)
		if err != nil {
			t.Fatal(err)
		}
		if matches && (len(n.Spec.Taints) == 0 || toleratesVirtualNodes(pod)) {
			names = append(names, n.Name)
		}
	}
	return names
}

// TestOtherNamespaces compares pods of a namespace without a NamespaceOffloading with pods of an API server
// without the policy.
func TestOtherNamespaces(t *testing.T) {
	offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	namespace := offloaded(t, nil)
	for name, test := range podCases {
		t.Run(name, func(t *testing.T) {
			pod, want := test.pod(namespace), test.pod(metav1.NamespaceDefault)
			if err := spare(t).Create(t.Context(), want, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if err := server(t).Create(t.Context(), pod, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Spec, pod.Spec); diff != "" {
				t.Errorf("spec (-without +with the policy):\n%s", diff)
			}
			if diff := cmp.Diff(want.ObjectMeta.Annotations, pod.ObjectMeta.Annotations); diff != "" {
				t.Errorf("annotations (-without +with the policy):\n%s", diff)
			}
		})
	}
}

// TestDeletion: no pod may leave any more when the NamespaceOffloading is being deleted, even while a
// finalizer keeps it.
func TestDeletion(t *testing.T) {
	needsNoManager(t)
	namespace := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote})
	offloading := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.OffloadingName}}
	kept := merge(`{"metadata":{"finalizers":["` + v1alpha1.FinalizerOffloading + `"]}}`)
	if err := errors.Join(server(t).Patch(t.Context(), offloading, kept), server(t).Delete(t.Context(), offloading)); err != nil {
		t.Fatal(err)
	}
	settled(t, server(t), false, namespace)
	pod := newPod(namespace)
	made(t, pod)
	if pod.Spec.Affinity != nil {
		t.Errorf("affinity %v, want none", pod.Spec.Affinity)
	}
	if err := server(t).Patch(t.Context(), offloading, merge(`{"metadata":{"finalizers":null}}`)); err != nil {
		t.Fatal(err)
	}
}
