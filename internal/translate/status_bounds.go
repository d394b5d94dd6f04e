package translate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/text"
)

// Limits on a provider's strings, in characters.
const (
	maxReason  = 128
	maxMessage = 1024
	maxImage   = 512 // and image IDs and container IDs
	// maxTermination is what a kubelet keeps of a termination message. Programs pass
	// results in it, so a lower limit would break them.
	maxTermination = 4096
)

// bounded is a string of the provider's, truncated, on one line, without unprintable
// characters.
func bounded(s string, limit int) string { return text.Clean(cutAfter(s, limit)) }

// boundedLines is a message of a container, truncated, without unprintable characters. It keeps
// its lines: programs leave results there, which others parse.
func boundedLines(s string, limit int) string { return text.CleanLines(cutAfter(s, limit)) }

// cutAfter truncates a string to so many characters, and marks where.
func cutAfter(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end, count := 0, 0
	for i := range s {
		if count == limit-1 {
			end = i
		}
		if count++; count > limit {
			return s[:end] + "…"
		}
	}
	return s
}

// isSane reports whether a time can be serialised: the API server parses no years of
// five digits, which a time zone can cause.
func isSane(t metav1.Time) bool {
	if t.IsZero() {
		return true
	}
	year := t.UTC().Year()
	return year >= 1970 && year <= 9999
}

func saneTime(t metav1.Time) metav1.Time {
	if !isSane(t) {
		return metav1.Time{}
	}
	return metav1.Time{Time: t.Truncate(time.Second)}
}

// reportedTime is a time of the provider's, but none in the future. The provider's clock may be ahead,
// and controllers here would wait until ours has caught up. was is the time that was reported of
// the same event before, or zero. It stays, unless the provider now names an earlier one. Otherwise
// a time in the future would be written again with each look, and once more when it has come.
func reportedTime(theirs, was, now metav1.Time) metav1.Time {
	theirs = saneTime(theirs)
	switch {
	case !was.IsZero() && !theirs.Before(&was) && !now.Before(&was):
		return was
	case now.Before(&theirs):
		return now
	}
	return theirs
}

// skewUnseen is how much more than it is known to be a provider's clock may be ahead: it is compared
// once in a while, coarsely, and the clocks of its nodes are not.
const skewUnseen = 5 * time.Second

// transitionTime is that time of a condition which has the same status as before, and had it then since
// was, or zero. If theirs is later, the status may have changed, and changed back, while nobody looked.
// Then theirs counts, unless was may be the bound that reportedTime gave to theirs.
func transitionTime(theirs, was, now metav1.Time, ahead time.Duration) metav1.Time {
	if !was.IsZero() && !now.Before(&theirs) && theirs.Sub(was.Time)-skewUnseen > max(ahead, 0) {
		was = metav1.Time{}
	}
	return reportedTime(theirs, was, now)
}

// resourceList keeps quantities that are not negative and whose name is in the spec, or
// one that a provider's defaults may add. A quantity large enough to cost something was
// never decoded.
func resourceList(from corev1.ResourceList, spec *corev1.ResourceRequirements) corev1.ResourceList {
	var to corev1.ResourceList
	keep := func(name corev1.ResourceName) {
		quantity, there := from[name]
		if !there || quantity.Sign() < 0 {
			return
		}
		if to == nil {
			to = make(corev1.ResourceList, len(from))
		}
		to[name] = quantity
	}
	if len(from) == 0 {
		return nil
	}
	for _, name := range resizable {
		keep(name)
	}
	keep(corev1.ResourceEphemeralStorage)
	for name := range spec.Requests {
		keep(name)
	}
	for name := range spec.Limits {
		keep(name)
	}
	return to
}

func resourceRequirements(from, spec *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	if from == nil {
		return nil
	}
	return &corev1.ResourceRequirements{
		Limits:   resourceList(from.Limits, spec),
		Requests: resourceList(from.Requests, spec),
	}
}
