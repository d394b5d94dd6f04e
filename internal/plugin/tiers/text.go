package tiers

import (
	"fmt"
	"slices"
	"strings"
)

// Name returns the number of a tier, and its places.
func (t Tier) Name() string {
	places := "no provider"
	switch {
	case slices.Contains(t.Places, Here):
		places = "this cluster"
	case len(t.Places) > 0:
		places = strings.Join(t.Places, ", ")
	}
	return fmt.Sprintf("tier %d (%s)", t.Number, places)
}

// String says everything about a tier, on one line.
func (t Tier) String() string {
	said := t.Name() + ", " + t.since()
	switch {
	case t.HasPod:
		return said + ": the pod is here"
	case t.Why != "":
		return said + ": " + t.Why
	}
	return said
}

func (t Tier) since() string {
	switch {
	case t.Skipped:
		return "skipped"
	case t.First:
		return "open from the beginning"
	case t.At != "":
		return "opened at " + t.At
	case t.Open:
		return "open"
	case t.Opens != "":
		return "opens at " + t.Opens + " if there is no room before"
	default:
		return "not open"
	}
}

// Short says as a part of a line which tiers were tried for a pod, and when. It is empty for a pod that has a node in the
// only tier that was tried.
func Short(all []Tier) string {
	var tried, skipped, left []string
	placed := false
	for _, tier := range all {
		placed = placed || tier.HasPod
		switch {
		case tier.Open && tier.At != "":
			tried = append(tried, tier.Name()+" at "+tier.At)
		case tier.Open:
			tried = append(tried, tier.Name())
		case tier.Skipped:
			skipped = append(skipped, strings.TrimSuffix("skipped "+tier.Name()+": "+tier.Why, ": "))
		default:
			left = append(left, tier.Name())
		}
	}
	if placed && len(tried) < 2 && len(skipped) == 0 {
		return ""
	}
	var parts []string
	if len(tried) > 0 {
		parts = append(parts, "tried "+strings.Join(tried, ", then "))
	}
	parts = append(parts, skipped...)
	if !placed && len(left) > 0 {
		parts = append(parts, "not yet "+strings.Join(left, ", "))
	}
	return strings.Join(parts, "; ")
}
