package admission

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
)

// TestAgreement creates random pods and offloadings. It compares what the policy makes of each pod with what
// the webhook decides: both must give a consumer the same result.
func TestAgreement(t *testing.T) {
	offloadings, pods := 5, 15
	if !testing.Short() {
		offloadings, pods = 40, 250
	}
	chance := rand.New(rand.NewPCG(3, 4))
	seen := map[string]int{}
	for range offloadings {
		spec := anOffloading(chance)
		namespace := offloaded(t, &spec)
		for range pods {
			for _, what := range agree(t, aPod(t, chance, namespace), &v1alpha1.NamespaceOffloading{Spec: spec}) {
				seen[what]++
			}
		}
	}
	t.Logf("pods that are %v", seen)
	for _, kind := range []string{"unchanged", "given a toleration", "restricted", "given a preference"} {
		if seen[kind] < offloadings {
			t.Errorf("%d pods are %s: too few to compare", seen[kind], kind)
		}
	}
}

// agree compares both results, and returns what happened to the pod. Invalid pods are not compared.
func agree(t *testing.T, sent *corev1.Pod, offloading *v1alpha1.NamespaceOffloading) []string {
	t.Helper()
	byPolicy, byWebhook := sent.DeepCopy(), sent.DeepCopy()
	plan := admission.Decide(byWebhook, offloading)
	plan.Apply(byWebhook)
	if err := server(t).Create(t.Context(), byPolicy, client.DryRunAll); apierrors.IsInvalid(err) {
		return []string{"invalid"}
	} else if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(byPolicy.Spec.Affinity, byWebhook.Spec.Affinity, cmpopts.EquateEmpty()) +
		cmp.Diff(ownTolerations(byPolicy), ownTolerations(byWebhook), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("offloading %+v\npod %+v\n(-by the policy +by the webhook):\n%s", offloading.Spec, sent.Spec, diff)
	}
	var what []string
	for name, is := range map[string]bool{
		"unchanged": plan.Empty(), "given a toleration": plan.Toleration != nil, "restricted": plan.Required != nil, "given a preference": plan.Preferred != nil,
	} {
		if is {
			what = append(what, name)
		}
	}
	return what
}

// some returns at most most random items.
func some[T any](chance *rand.Rand, most int, of ...T) []T {
	var all []T
	for range chance.IntN(most + 1) {
		all = append(all, of[chance.IntN(len(of))])
	}
	return all
}

func aTerm(chance *rand.Rand) corev1.NodeSelectorTerm {
	return both(labels(some(chance, 3, virtual, local, eu, us, gpu, amd, arm)...), fields(some(chance, 1, nodeEU, notUS)...))
}

func anOffloading(chance *rand.Rand) v1alpha1.NamespaceOffloadingSpec {
	strategies := []v1alpha1.PodOffloadingStrategy{v1alpha1.PodsRemote, v1alpha1.PodsLocalAndRemote, v1alpha1.PodsLocalFirst}
	spec := v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: strategies[chance.IntN(len(strategies))]}
	terms := some(chance, 3, labels(eu), labels(us, gpu), fields(nodeEU), both(labels(amd), fields(notUS)), labels(arm))
	if len(terms) > 0 {
		spec.ClusterSelector = selecting(terms...)
	}
	return spec
}

// aPod has a random affinity, tolerations and owners, and perhaps a part that can never be sent.
func aPod(t *testing.T, chance *rand.Rand, namespace string) *corev1.Pod {
	t.Helper()
	var parts []string
	if chance.IntN(3) == 0 {
		parts = some(chance, 2, pieces...)
	}
	pod := podOfPieces(t, namespace, parts)
	var terms []corev1.NodeSelectorTerm
	for range chance.IntN(4) {
		terms = append(terms, aTerm(chance))
	}
	if len(terms) > 0 {
		pod.Spec.Affinity = required(terms...)
	}
	if chance.IntN(3) == 0 {
		pod.Spec.Affinity = preferring(pod.Spec.Affinity, some(chance, 2, prefer(100, labels(local)), prefer(1, labels(local)), prefer(7, aTerm(chance)))...)
	}
	if chance.IntN(4) == 0 {
		if pod.Spec.Affinity == nil {
			pod.Spec.Affinity = &corev1.Affinity{}
		}
		pod.Spec.Affinity.PodAntiAffinity = apartIn([]string{corev1.LabelHostname, v1alpha1.TopologyHost}[chance.IntN(2)])
	}
	pod.Spec.Tolerations = some(chance, 2, tolerateVirtual, tolerateAll,
		corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Value: "eu"},
		corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	if chance.IntN(20) == 0 {
		pod.Spec.NodeName = "local-amd"
	}
	for i, kind := range some(chance, 2, "ReplicaSet", "Job", "DaemonSet") {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: fmt.Sprint(i), UID: "1"})
	}
	return pod
}
