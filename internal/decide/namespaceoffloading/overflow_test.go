package namespaceoffloading

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestOverflow(t *testing.T) {
	us, none := spill.Tier{Clusters: []string{"us"}}, spill.Tier{}
	local := spill.Tier{Local: true}
	pods := func(names ...string) eviction.Remaining { return eviction.Remaining{Count: len(names), Names: names} }
	const empty = "tier 2 has no provider, so pods skip it: compare its clusterSelector with the spec.virtualNode.labels of the ClusterBindings"
	for name, test := range map[string]struct {
		tiers                      []spill.Tier
		overlaps                   []spill.Overlap
		unfit                      eviction.Remaining
		clusters                   [][]string
		reason, message, unfitting string
	}{
		"none":                         {},
		"each tier has nodes":          {tiers: []spill.Tier{local, us}, clusters: [][]string{nil, {"us"}}, reason: "TiersReady"},
		"one has none":                 {tiers: []spill.Tier{local, us, none}, clusters: [][]string{nil, {"us"}, nil}, reason: "TierEmpty", message: empty},
		"two select one":               {tiers: []spill.Tier{us, local}, overlaps: []spill.Overlap{{ClusterID: "us", Later: 1}}, clusters: [][]string{{"us"}, nil}, reason: "TiersOverlap", message: "us is in tier 0, so tier 1, which selects it too, does not have it"},
		"two select one, and are left": {tiers: []spill.Tier{local, us, none}, overlaps: []spill.Overlap{{ClusterID: "us", Tier: 1, Later: 2}}, clusters: [][]string{nil, {"us"}, nil}, reason: "TierEmpty", message: "us is in tier 1, so tier 2, which selects it too, does not have it; " + empty},
		"a pod fits in none":           {tiers: []spill.Tier{us}, unfit: pods("team/a"), clusters: [][]string{{"us"}}, reason: "TiersReady", unfitting: "1 pod (team/a) waits, although it may use every tier: the scheduler finds no room in any of them"},
		"pods fit in none":             {tiers: []spill.Tier{us}, unfit: pods("team/a", "team/b"), clusters: [][]string{{"us"}}, reason: "TiersReady", unfitting: "2 pods (team/a, team/b) wait, although they may use every tier: the scheduler finds no room in any of them"},
	} {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team").Obj()
			// What an earlier spec and earlier pods have left.
			nso.Status.Overflow = []v1alpha1.OverflowTierStatus{{Clusters: []string{"gone"}}}
			conditions.Set(&nso.Status.Conditions, 1, conditions.New(v1alpha1.OffloadingOverflow, metav1.ConditionTrue, v1alpha1.ReasonTiersReady, ""))
			conditions.Set(&nso.Status.Conditions, 1, conditions.New(v1alpha1.OffloadingPodsFit, metav1.ConditionFalse, v1alpha1.ReasonFitsNoTier, "old"))
			status := Decide(Snapshot{Offloading: nso, Tiers: test.tiers, Overlaps: test.overlaps, Waiting: Waiting{Unfit: test.unfit}}).Status
			var clusters [][]string
			for _, tier := range status.Overflow {
				clusters = append(clusters, tier.Clusters)
			}
			said := func(kind string) metav1.Condition {
				if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
					return *c
				}
				return metav1.Condition{}
			}
			overflow, fit := said(v1alpha1.OffloadingOverflow), said(v1alpha1.OffloadingPodsFit)
			got := []string{overflow.Reason, overflow.Message, fit.Message}
			if diff := cmp.Diff([]string{test.reason, test.message, test.unfitting}, got) + cmp.Diff(test.clusters, clusters, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (overflow.Status == metav1.ConditionTrue) != (test.reason == v1alpha1.ReasonTiersReady) {
				t.Errorf("Overflow is %s with %s", overflow.Status, overflow.Reason)
			}
		})
	}
}

// TestFull: the end of a back-off is reported when it comes, and what is known about a provider goes with its tier.
func TestFull(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: builder.Epoch.Add(d)} }
	nso := builder.Offloading("team").Obj()
	nso.Spec.Overflow, nso.Spec.Unschedulable = make([]v1alpha1.OverflowTier, 2), &v1alpha1.Unschedulable{}
	nso.Status.Full = []v1alpha1.FullProvider{
		{Cluster: "eu", Refusals: 1, LastRefusal: *at(0), Until: at(time.Minute), Message: "quota"},
		{Cluster: "gone", Refusals: 1, LastRefusal: *at(0), Until: at(time.Minute)},
		{Cluster: "us", Refusals: 2, LastRefusal: *at(-time.Minute), Until: at(time.Minute), Message: "full"},
	}
	s := Snapshot{Offloading: nso, Tiers: []spill.Tier{{Clusters: []string{"us"}}, {Clusters: []string{"eu"}}}}
	for _, step := range []struct {
		after, again time.Duration
		want         string
	}{
		{0, time.Minute, "pods are kept away from eu until 2026-01-02T03:05:05Z: quota; pods are kept away from us until 2026-01-02T03:05:05Z: full"},
		{59 * time.Second, time.Second, "pods are kept away from eu until 2026-01-02T03:05:05Z: quota; pods are kept away from us until 2026-01-02T03:05:05Z: full"},
		{time.Minute, time.Hour, ""},
	} {
		s.Now = builder.Epoch.Add(step.after)
		plan := Decide(s)
		said := ""
		if c := meta.FindStatusCondition(plan.Status.Conditions, v1alpha1.OffloadingFull); c != nil {
			said = c.Message
		}
		if len(plan.Status.Full) != 2 || said != step.want || plan.RecheckAfter != step.again {
			t.Errorf("after %v: %q, again after %v, %+v", step.after, said, plan.RecheckAfter, plan.Status.Full)
		}
		s.Offloading.Status = plan.Status
		if again := Decide(s).Status; !equality.Semantic.DeepEqual(plan.Status, again) {
			t.Errorf("after %v, written again: %s", step.after, cmp.Diff(plan.Status, again))
		}
	}
	if nso.Spec.Unschedulable.Action = v1alpha1.UnschedulableWait; len(Decide(s).Status.Full) != 0 {
		t.Error("although pods wait, providers are full")
	}
}
