package spill

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestResolve(t *testing.T) {
	region := func(values ...string) v1alpha1.OverflowTier {
		return builder.Tier([]v1alpha1.ClusterSelectorRequirement{builder.Requirement("region", corev1.NodeSelectorOpIn, values...)})
	}
	slow := region("eu", "us")
	slow.After = &metav1.Duration{Duration: time.Minute}
	spec := &v1alpha1.NamespaceOffloadingSpec{Overflow: []v1alpha1.OverflowTier{{Local: true}, region("eu"), slow, region("asia"), builder.Tier()}}
	var bindings []*v1alpha1.ClusterBinding
	for _, id := range []string{"eu", "us"} {
		binding := &v1alpha1.ClusterBinding{}
		binding.Spec.ClusterID, binding.Spec.VirtualNode.Labels = id, map[string]v1alpha1.LabelValue{"region": v1alpha1.LabelValue(id)}
		bindings = append(bindings, binding)
	}
	tiers, overlaps := Resolve(spec, bindings)
	want := append(three[:2:2], Tier{Clusters: []string{"us"}, After: time.Minute}, Tier{After: DefaultAfter}, Tier{After: DefaultAfter})
	if diff := cmp.Diff(want, tiers, cmpopts.EquateEmpty()) + cmp.Diff([]Overlap{{"eu", 1, 2}}, overlaps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, binding := range bindings {
		if tier := TierOf(spec, binding); tier != i+1 || tier != Of(tiers, binding.Spec.ClusterID) {
			t.Errorf("%s is in tier %d", binding.Spec.ClusterID, tier)
		}
	}
}
