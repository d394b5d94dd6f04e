package tiers

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field/text"
)

// why says why the pod is not in a tier, although it is open or a later one is, or why the tier cannot open; "" if
// nothing keeps the pod away. last is the last tier that is open.
func (t trial) why(tier *Tier, last int) string {
	refused := t.refused(tier.Number, tier.Number > last)
	switch {
	case tier.HasPod, t.tiers[tier.Number].Empty(): // Its name says that it has no provider.
		return ""
	case tier.Number >= last || len(refused) > 0:
		return strings.Join(refused, "; ")
	case tier.Skipped:
		return "none of its providers could take the pod then"
	case tier.Number >= t.noted():
		return "" // The pod tolerates the later tiers by itself.
	}
	return cmp.Or(t.noRoom(tier.Number), "the scheduler found no room")
}

// noted returns the last tier that was opened for the pod, or -1.
func (t trial) noted() int {
	if n := len(t.waits.Opened); n > 0 {
		return t.waits.Opened[n-1].Tier
	}
	return -1
}

// refused says which providers of a tier have refused such pods, before this one got its node. With only, it names
// those that are left out now.
func (t trial) refused(tier int, only bool) []string {
	var said []string
	size, scheduled := spill.SizeOf(t.pod), t.scheduled()
	for i := range t.nso.Status.Full {
		full := &t.nso.Status.Full[i]
		late := !scheduled.IsZero() && full.LastRefusal.After(scheduled)
		if !late && (!only || full.Until != nil) && spill.Of(t.tiers, full.Cluster) == tier && size.Covers(spill.SizeOfList(full.Requests)) {
			said = append(said, text.Clean(spill.Describe(full)))
		}
	}
	return said
}

// scheduled returns when the pod got its node; zero if it has none, or nobody says when.
func (t trial) scheduled() time.Time {
	for _, c := range t.pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// noRoom returns what the scheduler said last about a tier before the next one was opened, as far as events tell it. An
// event keeps the message with which it began, however often it is repeated: so it counts only if it began while the
// tier was the last one.
func (t trial) noRoom(tier int) string {
	var from, until time.Time
	for _, one := range t.waits.Opened {
		switch {
		case one.Tier <= tier:
			from = one.At
		case until.IsZero():
			until = one.At
		}
	}
	var latest *corev1.Event
	for i := range t.events {
		event := &t.events[i]
		if event.Reason != "FailedScheduling" || event.ReportingController == podevent.Component {
			continue
		}
		if at := began(event); !at.Before(from) && !at.After(until) && (latest == nil || began(latest).Before(at)) {
			latest = event
		}
	}
	if latest == nil {
		return ""
	}
	return strings.TrimSpace(text.Clean(latest.Message))
}

func began(event *corev1.Event) time.Time {
	if !event.EventTime.IsZero() {
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}
