package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/field/text"
)

// maxDecisions is how many decisions the status keeps.
const maxDecisions = 32

// Enter writes a plan to the status. waits says which of its writes wait. If the plan is not Decided, Enter
// changes nothing. It adds the decisions that are not stored yet.
func Enter(h *v1alpha1.HostedCluster, plan merge.Plan, waits []merge.Wait, reading cloud.Reading) error {
	if !plan.Decided {
		return nil
	}
	upstream, err := Typed(h.Spec.ClusterConfig, reading.Config)
	if err != nil {
		return fmt.Errorf("status.upstreamSpec: %w", err)
	}
	effective, err := Typed(h.Spec.ClusterConfig, plan.Effective)
	if err != nil {
		return fmt.Errorf("status.effective: %w", err)
	}
	s := &h.Status
	s.UpstreamSpec, s.Effective, s.Managed, s.Base, s.Conflicts = upstream, effective, nil, nil, nil
	for _, leaf := range plan.Leaves {
		s.Managed = append(s.Managed, v1alpha1.ManagedField{Path: leaf.Path, State: string(leaf.State)})
	}
	for _, path := range slices.Sorted(maps.Keys(plan.Base)) {
		base := v1alpha1.BaseField{Path: path, Upstream: string(plan.Base[path].Upstream)}
		if plan.Base[path].SpecSet {
			base.Spec = ptr.To(string(plan.Base[path].Spec))
		}
		s.Base = append(s.Base, base)
	}
	for _, c := range plan.Conflicts {
		s.Conflicts = append(s.Conflicts, v1alpha1.Conflict{
			Path: c.Path, Base: string(c.Base), Spec: string(c.Spec), Upstream: string(c.Upstream), UpstreamHash: c.Hash, Since: metav1.NewTime(c.Since),
		})
	}
	s.ConflictCount = ptr.To(int32(len(plan.Conflicts)))
	for _, d := range plan.Decisions {
		switch {
		case d.Noted:
			continue
		case d.Again:
			keep(h, d)
			continue
		}
		Note(h, v1alpha1.Decision{
			Path: d.Path, Take: v1alpha1.Side(d.Take), Kept: string(d.Kept), Lost: string(d.Lost), Time: metav1.NewTime(d.Time),
		})
	}
	conditions.Set(&s.Conditions, h.Generation, inSync(plan, waits))
	return nil
}

// Note adds decisions. If there are too many, it drops the oldest one of the field that has most. So a field that
// keeps changing does not push out what is known of the others.
func Note(h *v1alpha1.HostedCluster, decisions ...v1alpha1.Decision) {
	all := append(h.Status.Decisions, decisions...) //nolint:gocritic // It is the same list.
	for len(all) > maxDecisions {
		count := map[string]int{}
		most := all[0].Path
		for _, d := range all {
			if count[d.Path]++; count[d.Path] > count[most] {
				most = d.Path
			}
		}
		oldest := slices.IndexFunc(all, func(d v1alpha1.Decision) bool { return d.Path == most })
		all = slices.Delete(slices.Clone(all), oldest, oldest+1)
	}
	h.Status.Decisions = all
}

// keep notes another value that is kept in the latest decision about a field.
func keep(h *v1alpha1.HostedCluster, d merge.Decision) {
	for i, old := range slices.Backward(h.Status.Decisions) {
		if old.Path == d.Path {
			h.Status.Decisions[i].Kept = string(d.Kept)
			return
		}
	}
}

// Typed returns tree as a configuration of the same cloud as like.
func Typed(like v1alpha1.ClusterConfig, tree map[string]any) (v1alpha1.ClusterConfig, error) {
	var config v1alpha1.ClusterConfig
	switch {
	case like.EKSConfig != nil:
		config.EKSConfig = &v1alpha1.EKSConfig{}
		return config, merge.Typed(tree, config.EKSConfig)
	case like.AKSConfig != nil:
		config.AKSConfig = &v1alpha1.AKSConfig{}
		return config, merge.Typed(tree, config.AKSConfig)
	default:
		config.GKEConfig = &v1alpha1.GKEConfig{}
		return config, merge.Typed(tree, config.GKEConfig)
	}
}

// states has the states that a user should know about, the most important first, each with its reason.
var states = []struct {
	state  merge.State
	reason string
}{
	{merge.Conflict, v1alpha1.ReasonConflict},
	{merge.ImmutableDiffers, v1alpha1.ReasonImmutableDiffers},
	{merge.Drifted, v1alpha1.ReasonDrifted},
	{merge.Pushed, v1alpha1.ReasonPushed},
	{merge.WrittenBack, v1alpha1.ReasonSuperseded},
	{merge.Superseded, v1alpha1.ReasonSuperseded},
}

// inSync returns the condition InSync. Its message has the fields that differ, with both values, and what waits
// for something else.
func inSync(plan merge.Plan, waits []merge.Wait) metav1.Condition {
	var reason string
	var parts []string
	for _, s := range states {
		for _, leaf := range plan.Leaves {
			if leaf.State == s.state {
				reason = cmp.Or(reason, s.reason)
				parts = append(parts, fmt.Sprintf("%s is %s: the spec has %s, the cloud %s", leaf.Path, leaf.State, short(leaf.Spec), short(leaf.Upstream)))
			}
		}
	}
	if reason == "" {
		return conditions.New(v1alpha1.HostedInSync, metav1.ConditionTrue, v1alpha1.ReasonAgreed, "")
	}
	return conditions.New(v1alpha1.HostedInSync, metav1.ConditionFalse, reason, strings.Join(append(waiting(plan, waits), parts...), "; "))
}

// waiting describes the writes that wait for something else. If there is no room for the new pool beside the old
// one, both wait for ever, so the message says what to do.
func waiting(plan merge.Plan, waits []merge.Wait) []string {
	var parts []string
	for i, wait := range waits {
		if wait.For != "" {
			parts = append(parts, fmt.Sprintf("%s %s waits because %s. That may be its replacement. If there is no room for both, delete the old one in the cloud",
				plan.Writes[i].Call, plan.Writes[i].Item, wait.For))
		}
	}
	return parts
}

func short(value merge.Text) string { return text.Bound(string(value), 80) }
