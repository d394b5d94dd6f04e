package pod

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/field"
)

// constraints returns the topology spread constraints of the remote pod. At home, a constraint spreads pods over
// nodes, of which the virtual node is one, or over the zones that these are in. In the provider, it spreads those
// that are there over the real hosts and zones: its owner wants replicas to fail apart.
func (p *placement) constraints() []corev1.TopologySpreadConstraint {
	var sent []corev1.TopologySpreadConstraint
	for i := range p.local.Spec.TopologySpreadConstraints {
		local := &p.local.Spec.TopologySpreadConstraints[i]
		remote, why := p.constraint(local)
		if remote != nil && slices.ContainsFunc(sent, func(other corev1.TopologySpreadConstraint) bool {
			return other.TopologyKey == remote.TopologyKey && other.WhenUnsatisfiable == remote.WhenUnsatisfiable
		}) { // Kubernetes refuses a second one.
			remote, why = nil, "another one is over "+remote.TopologyKey+" there, too"
		}
		switch {
		case remote != nil:
			sent = append(sent, *remote)
			if local.WhenUnsatisfiable != remote.WhenUnsatisfiable && !softened(p.local) {
				p.omit(fmt.Sprintf("spec.topologySpreadConstraints[%d].whenUnsatisfiable", i), "the pod selects nodes by "+subset(p)+", which is not sent, so places without such nodes would keep it waiting")
			}
		case why != "" && local.WhenUnsatisfiable == corev1.DoNotSchedule:
			p.omit(fmt.Sprintf("spec.topologySpreadConstraints[%d]", i), why)
		}
	}
	return sent
}

// constraint returns the remote form of a constraint, or why there is none. A constraint without a selector
// selects no pod.
func (p *placement) constraint(local *corev1.TopologySpreadConstraint) (*corev1.TopologySpreadConstraint, string) {
	key, why := p.topologyKey(local.TopologyKey, local.WhenUnsatisfiable == corev1.DoNotSchedule && !softened(p.local))
	switch {
	case key == "" || local.LabelSelector == nil:
		return nil, why
	case p.target.Hashed:
		return nil, sharesNamespace
	}
	selector, why := fullSelector(p.local, p.in.Limits, local.LabelSelector, local.MatchLabelKeys, nil)
	if selector == nil {
		return nil, why
	}
	allowed := accept.TopologySpreadConstraintPlan.Allowed(local)
	remote := allowed.DeepCopy()
	remote.TopologyKey, remote.LabelSelector = key, field.PodSelector(selector)
	if softened(p.local) || subset(p) != "" {
		remote.WhenUnsatisfiable, remote.MinDomains = corev1.ScheduleAnyway, nil // Only DoNotSchedule may have minDomains.
	}
	if p.in.Groups[p.local.Spec.NodeName][key] != nil {
		remote.MinDomains = nil // The pod may run in one domain only, that of the group of its virtual node.
	}
	if remote.NodeTaintsPolicy == nil {
		// Otherwise an empty zone of nodes that the provider keeps for others would keep the pods of all others waiting.
		remote.NodeTaintsPolicy = ptr.To(corev1.NodeInclusionPolicyHonor)
	}
	return remote, ""
}

// subset returns a label by which the pod selects some nodes at home, which is not sent, and which nodes of the provider have,
// too; "" if there is none. The provider's scheduler does not know that such a pod is for some of its nodes only. It counts
// the zones and hosts of all others, in which no pod will ever be.
func subset(p *placement) string {
	if p.subsetKey == nil {
		i := slices.IndexFunc(selectedKeys(&p.local.Spec), func(key string) bool { return isSubset(p, key) })
		key := ""
		if i >= 0 {
			key = selectedKeys(&p.local.Spec)[i]
		}
		p.subsetKey = &key
	}
	return *p.subsetKey
}

// isSubset leaves out the labels that say where a cluster is: they select a provider.
func isSubset(p *placement, key string) bool {
	_, ofGroup := p.in.Groups[p.local.Spec.NodeName][key]
	return !ofGroup && !field.IsOurs(key) && !slices.Contains(sameEverywhere, key) && !slices.Contains(field.NodeKeys, key) &&
		!slices.Contains([]string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion}, key) && p.nodesHave(key).some
}

// selectedKeys returns the labels by which a pod selects its node, sorted.
func selectedKeys(spec *corev1.PodSpec) []string {
	keys := slices.Collect(maps.Keys(spec.NodeSelector))
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, r := range term.MatchExpressions {
				keys = append(keys, r.Key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
