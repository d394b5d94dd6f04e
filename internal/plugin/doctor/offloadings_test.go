package doctor

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestOffloading: what nobody will ever run is an error, and the fix names what there is.
func TestOffloading(t *testing.T) {
	eu, us := v1alpha1.ClusterBinding{}, v1alpha1.ClusterBinding{}
	eu.Spec.ClusterID, us.Spec.ClusterID = "eu", "us"
	eu.Spec.VirtualNode.Labels = map[string]v1alpha1.LabelValue{"region": "eu-1"}
	us.Spec.VirtualNode.Labels = map[string]v1alpha1.LabelValue{"region": "us-1"}
	for name, test := range map[string]struct {
		phase v1alpha1.OffloadingPhase
		key   string
		want  string
	}{
		"all is well":    {v1alpha1.OffloadingPhaseReady, "region", ""},
		"it takes time":  {v1alpha1.OffloadingPhaseInProgress, "region", ""},
		"a typo":         {v1alpha1.OffloadingPhaseNoClusterSelected, "region", "of region, the bindings have eu-1, us-1"},
		"a wrong key":    {v1alpha1.OffloadingPhaseNoClusterSelected, "zone", "no binding has zone"},
		"a system":       {v1alpha1.OffloadingPhaseNoClusterSelected, corev1.LabelOSStable, "the bindings have linux"},
		"another ID":     {v1alpha1.OffloadingPhaseNoClusterSelected, v1alpha1.LabelCluster, "the bindings have eu, us"},
		"it is refused":  {v1alpha1.OffloadingPhaseRefused, "region", "docs/troubleshooting.md, reason Refused"},
		"not any longer": {v1alpha1.OffloadingPhaseTerminating, "region", ""},
	} {
		t.Run(name, func(t *testing.T) {
			nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}
			nso.Spec.ClusterSelector = &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{
				MatchExpressions: []v1alpha1.ClusterSelectorRequirement{{Key: test.key, Operator: corev1.NodeSelectorOpIn, Values: []string{"x"}}},
			}}}
			nso.Status.OffloadingPhase = test.phase
			nso.Status.Conditions = []metav1.Condition{conditions.New("Ready", "False", string(test.phase), "no")}
			f := ofOffloading(nso, []v1alpha1.ClusterBinding{eu, us}, false)
			if (f == nil) != (test.want == "") || f != nil && (f.Level != Error || f.Object != "team" || !strings.Contains(f.Mend, test.want)) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// TestMends: who may not read bindings learns nothing about their labels, and tiers have selectors of their own.
func TestMends(t *testing.T) {
	requirement := []v1alpha1.ClusterSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}
	nso := &v1alpha1.NamespaceOffloading{}
	nso.Spec.ClusterSelector = &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{MatchExpressions: requirement}}}
	nso.Status.OffloadingPhase = v1alpha1.OffloadingPhaseNoClusterSelected
	nso.Status.Conditions = []metav1.Condition{conditions.New("Ready", "False", "NoClusterSelected", "no")}
	if f := ofOffloading(nso, nil, true); f == nil || strings.Contains(f.Mend, "zone") {
		t.Errorf("bindings are hidden: %+v", f)
	}
	nso.Spec.ClusterSelector = nil
	nso.Spec.Overflow = []v1alpha1.OverflowTier{builder.Tier(requirement)}
	if f := ofOffloading(nso, nil, false); f == nil || !strings.Contains(f.Mend, "spec.overflow") || !strings.HasSuffix(f.Mend, "no binding has zone") {
		t.Errorf("with tiers: %+v", f)
	}
}
