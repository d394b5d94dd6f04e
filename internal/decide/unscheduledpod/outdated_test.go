package unscheduledpod

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func term(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: requirements}
}

func toRegions(regions ...string) *v1alpha1.ClusterSelector {
	selector := &v1alpha1.ClusterSelector{}
	for _, region := range regions {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, v1alpha1.ClusterSelectorTerm{MatchExpressions: []v1alpha1.ClusterSelectorRequirement{
			{Key: "region", Operator: corev1.NodeSelectorOpIn, Values: []string{region}},
		}})
	}
	return selector
}

func TestOutdated(t *testing.T) {
	const remote, both, local, first = v1alpha1.PodsRemote, v1alpha1.PodsLocalAndRemote, v1alpha1.PodsLocal, v1alpha1.PodsLocalFirst
	// The terms as the admission policy writes them.
	onVirtual := in("spillway.io/node-type", "virtual")
	onLocal := corev1.NodeSelectorRequirement{Key: "spillway.io/node-type", Operator: corev1.NodeSelectorOpDoesNotExist}
	byName := func(t corev1.NodeSelectorTerm) corev1.NodeSelectorTerm {
		t.MatchFields = []corev1.NodeSelectorRequirement{in("metadata.name", "spillway-eu")}
		return t
	}
	eu, us, all, home := term(onVirtual, in("region", "eu")), term(onVirtual, in("region", "us")), term(onVirtual), term(onLocal)
	ssd, nfs := in("disk", "ssd"), corev1.NodeSelectorRequirement{Key: "spillway.io/volume-nfs", Operator: corev1.NodeSelectorOpExists}
	for name, test := range map[string]struct {
		strategy v1alpha1.PodOffloadingStrategy
		selector *v1alpha1.ClusterSelector
		terms    []corev1.NodeSelectorTerm
		want     bool
	}{
		"no affinity":                                 {remote, toRegions("eu"), nil, false},
		"the user's own affinity":                     {remote, toRegions("eu"), []corev1.NodeSelectorTerm{term(ssd)}, false},
		"as it is now":                                {remote, toRegions("eu"), []corev1.NodeSelectorTerm{eu}, false},
		"as it is now, with the user's own":           {remote, toRegions("eu"), []corev1.NodeSelectorTerm{term(ssd, onVirtual, in("region", "eu"))}, false},
		"another region since":                        {remote, toRegions("us"), []corev1.NodeSelectorTerm{eu}, true},
		"one region more since":                       {remote, toRegions("eu", "us"), []corev1.NodeSelectorTerm{eu}, true},
		"one region less since":                       {remote, toRegions("eu"), []corev1.NodeSelectorTerm{eu, us}, true},
		"everywhere since":                            {remote, nil, []corev1.NodeSelectorTerm{eu}, false},
		"only there since":                            {remote, toRegions("eu"), []corev1.NodeSelectorTerm{all}, true},
		"local too, as it is now":                     {both, toRegions("eu"), []corev1.NodeSelectorTerm{eu, home}, false},
		"local too, another region since":             {both, toRegions("us"), []corev1.NodeSelectorTerm{eu, home}, true},
		"local too since":                             {both, toRegions("eu"), []corev1.NodeSelectorTerm{eu}, true},
		"local too, everywhere since":                 {first, nil, []corev1.NodeSelectorTerm{eu, home}, true},
		"everywhere, and the user asks for virtual":   {both, nil, []corev1.NodeSelectorTerm{all}, false},
		"with what it needs of a provider":            {both, nil, []corev1.NodeSelectorTerm{term(onVirtual, nfs), home}, false},
		"with that, another region since":             {both, toRegions("us"), []corev1.NodeSelectorTerm{term(onVirtual, nfs, in("region", "eu")), home}, true},
		"the user asks for local nodes":               {both, toRegions("eu"), []corev1.NodeSelectorTerm{home}, false},
		"everywhere, and one that the user names":     {both, nil, []corev1.NodeSelectorTerm{byName(all)}, true},
		"everywhere, or others of the user's":         {both, nil, []corev1.NodeSelectorTerm{all, term(ssd, in("zone", "a"))}, false},
		"with a term that matches nothing":            {remote, toRegions("eu"), []corev1.NodeSelectorTerm{eu, term()}, false},
		"with the name of a node":                     {remote, toRegions("eu"), []corev1.NodeSelectorTerm{eu, {MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "a")}}}, true},
		"a region, but not its virtual nodes":         {remote, toRegions("eu", "us"), []corev1.NodeSelectorTerm{eu, term(in("region", "us"))}, true},
		"only local since, and elsewhere":             {local, toRegions("us"), []corev1.NodeSelectorTerm{eu, home}, false},
		"only local since":                            {local, toRegions("eu"), []corev1.NodeSelectorTerm{eu}, true},
		"only local since, and the pod may run there": {local, toRegions("eu"), []corev1.NodeSelectorTerm{eu, home}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod, nso := &corev1.Pod{}, &v1alpha1.NamespaceOffloading{}
			pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}}}
			nso.Spec.PodOffloadingStrategy, nso.Spec.ClusterSelector = test.strategy, test.selector
			if test.terms != nil {
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: test.terms}}}
			}
			if got := Outdated(pod, nso); got != test.want {
				t.Errorf("outdated: %v", got)
			}
			going := nso.DeepCopy()
			going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			if Outdated(pod, going) {
				t.Error("what the offloading asks for that is going does not count")
			}
			pod.Spec.NodeName = "spillway-eu"
			if Outdated(pod, nso) {
				t.Error("one that has a node does not wait")
			}
			pod.Spec.NodeName, pod.DeletionTimestamp = "", &metav1.Time{Time: time.Unix(1, 0)}
			if Outdated(pod, nso) {
				t.Error("one that is going does not wait")
			}
		})
	}
}

// TestOutdatedWithoutNodeAffinity checks that a pod without node affinity is never outdated.
func TestOutdatedWithoutNodeAffinity(t *testing.T) {
	nso := &v1alpha1.NamespaceOffloading{}
	for name, affinity := range map[string]*corev1.Affinity{"for other pods": {PodAffinity: &corev1.PodAffinity{}}, "that is preferred": {NodeAffinity: &corev1.NodeAffinity{}}} {
		if Outdated(&corev1.Pod{Spec: corev1.PodSpec{Affinity: affinity}}, nso) {
			t.Errorf("with an affinity %s it is outdated", name)
		}
	}
}
