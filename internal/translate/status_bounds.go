package translate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/text"
)

// Limits for a provider's strings, in characters.
const (
	maxReason  = 128
	maxMessage = 1024
	maxImage   = 512 // and image IDs and container IDs
	// maxTermination is how much of a termination message a kubelet keeps. Programs pass results in it,
	// so a lower limit would break them.
	maxTermination = 4096
)

// bounded returns a string of the provider shortened and on one line, without unprintable characters.
func bounded(s string, limit int) string { return text.Clean(cutAfter(s, limit)) }

// boundedLines returns a container's message shortened, without unprintable characters. It keeps line
// breaks, because programs leave results there that others parse.
func boundedLines(s string, limit int) string { return text.CleanLines(cutAfter(s, limit)) }

// cutAfter shortens a string to at most limit characters. A shortened string ends in "…".
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

// isSane reports whether the API server can parse a time after it is serialised. It cannot parse years
// with five digits, which a time zone can cause.
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

// reportedTime returns a time of the provider that is not in the future. The provider's clock may be
// ahead, and controllers in the consumer would wait until their clock reaches that time.
//
// was is the time that was reported before for the same event, or zero. It stays, unless the provider
// now names an earlier time. Otherwise a future time would be written again at each reconcile, and once
// more when the time has come.
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

// skewUnseen is the tolerance for how far a provider's clock is known to be ahead. The manager compares
// that clock only now and then, and coarsely. It does not compare the clocks of the provider's nodes.
const skewUnseen = 5 * time.Second

// transitionTime returns the lastTransitionTime of a condition. was is the time in the local condition
// if the status is still the same, or zero. If theirs is later, the status may have changed and changed
// back in between. Then theirs counts, unless was may be the limit that reportedTime set instead of
// theirs.
func transitionTime(theirs, was, now metav1.Time, ahead time.Duration) metav1.Time {
	if !was.IsZero() && !now.Before(&theirs) && theirs.Sub(was.Time)-skewUnseen > max(ahead, 0) {
		was = metav1.Time{}
	}
	return reportedTime(theirs, was, now)
}

// resourceList keeps quantities that are not negative and have a known name. The name must be in the
// spec, or be one that a provider's defaults may add. Quantities that cost too much never get here,
// because they are not decoded.
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
