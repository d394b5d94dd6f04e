// Package ledger keeps in the status of a HostedCluster what the merge has to remember, and reports what it
// has decided. It does no I/O. Input converts the object for the merge. Enter writes the plan to the status,
// which must be stored before any request of the plan is sent.
package ledger

import (
	"fmt"
	"maps"
	"time"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Input returns what the merge knows about a cluster. Sent has the values of the operations that
// are in flight, except those of pools that are being changed. The reading must be newer than these operations, and
// must come from Hold.
func Input(h *v1alpha1.HostedCluster, table *merge.Table, reading cloud.Reading, now time.Time) (merge.Input, error) {
	in := merge.Input{
		Table: table, Upstream: reading.Config, Complete: reading.Complete, Versions: reading.Versions, Base: map[string]merge.Base{},
		Sent: map[string]merge.Text{}, Changing: reading.Items(), Policies: policies(h.Spec), Now: now,
	}
	var err error
	if in.Spec, err = Tree(h.Spec.ClusterConfig); err != nil {
		return merge.Input{}, fmt.Errorf("spec: %w", err)
	}
	if in.Published, err = Tree(h.Status.UpstreamSpec); err != nil {
		return merge.Input{}, fmt.Errorf("status.upstreamSpec: %w", err)
	}
	for _, base := range h.Status.Base {
		b := merge.Base{Spec: merge.Null, Upstream: merge.Text(base.Upstream)}
		if base.Spec != nil {
			b.SpecSet, b.Spec = true, merge.Text(*base.Spec)
		}
		in.Base[base.Path] = b
	}
	for _, c := range h.Status.Conflicts {
		in.Conflicts = append(in.Conflicts, merge.OpenConflict{
			Path: c.Path, Base: merge.Text(c.Base), Spec: merge.Text(c.Spec), Upstream: merge.Text(c.Upstream), Hash: c.UpstreamHash, Since: c.Since.Time,
		})
	}
	for _, op := range h.Status.AllInFlight() {
		if _, changing := reading.Changing[op.Item]; !changing {
			maps.Copy(in.Sent, Sent(op))
		}
	}
	in.Stored = previous(h)
	return in, nil
}

func previous(h *v1alpha1.HostedCluster) merge.Stored {
	s := merge.Stored{States: map[string]merge.State{}, SpecUnchanged: h.Status.ObservedGeneration == h.Generation}
	for _, field := range h.Status.Managed {
		s.States[field.Path] = merge.State(field.State)
	}
	for _, d := range h.Status.Decisions {
		s.Decisions = append(s.Decisions, merge.Decision{
			Path: d.Path, Take: merge.Side(d.Take), Kept: merge.Text(d.Kept), Lost: merge.Text(d.Lost), Time: d.Time.Time,
		})
	}
	return s
}

// Hold returns the reading with the pools that are being changed as they were published. What the cloud has of them may
// be half of a change.
func Hold(h *v1alpha1.HostedCluster, table *merge.Table, reading cloud.Reading) (cloud.Reading, error) {
	published, err := Tree(h.Status.UpstreamSpec)
	if err != nil {
		return reading, fmt.Errorf("status.upstreamSpec: %w", err)
	}
	reading.Config = table.Keep(reading.Config, published, reading.Items())
	return reading, nil
}

// Tree returns the configuration, whichever cloud it is for; nil if there is none.
func Tree(config v1alpha1.ClusterConfig) (map[string]any, error) {
	switch {
	case config.EKSConfig != nil:
		return merge.Tree(config.EKSConfig)
	case config.AKSConfig != nil:
		return merge.Tree(config.AKSConfig)
	case config.GKEConfig != nil:
		return merge.Tree(config.GKEConfig)
	default:
		return nil, nil
	}
}

var (
	external = map[v1alpha1.ExternalPolicy]merge.Side{
		v1alpha1.ExternalPreferUpstream: merge.Upstream, v1alpha1.ExternalPreferSpec: merge.Spec, v1alpha1.ExternalReport: merge.Neither,
	}
	conflict = map[v1alpha1.ConflictPolicy]merge.Side{
		v1alpha1.ConflictPreferUpstream: merge.Upstream, v1alpha1.ConflictPreferSpec: merge.Spec, v1alpha1.ConflictReport: merge.Neither,
	}
)

func policies(spec v1alpha1.HostedClusterSpec) merge.Policies {
	// Defaults: a change in the cloud holds, and a conflict is reported.
	all := merge.Policies{
		Policy:    merge.Policy{External: merge.Upstream, WriteBack: spec.Sync.WriteBack == v1alpha1.WriteBackAlways},
		Overrides: map[string]merge.Policy{}, Exclusive: spec.NodePoolPolicy == v1alpha1.NodePoolExclusive,
	}
	all.Policy = override(all.Policy, spec.Sync.External, spec.Sync.Conflict)
	for _, o := range spec.Sync.Overrides {
		all.Overrides[o.Path] = override(all.Policy, o.External, o.Conflict)
	}
	for _, r := range spec.Sync.Resolutions {
		all.Resolutions = append(all.Resolutions, merge.Resolution{Path: r.Path, Take: merge.Side(r.Take), Hash: r.UpstreamHash})
	}
	return all
}

func override(policy merge.Policy, e v1alpha1.ExternalPolicy, c v1alpha1.ConflictPolicy) merge.Policy {
	if side, ok := external[e]; ok {
		policy.External = side
	}
	if side, ok := conflict[c]; ok {
		policy.Conflict = side
	}
	return policy
}
