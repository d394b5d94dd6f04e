package field

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/text"
)

// MaxReason and MaxMessage limit a provider's strings, in characters.
const (
	MaxReason  = 128
	MaxMessage = 1024
)

// Bounded returns a string of the provider shortened and on one line, without unprintable characters.
func Bounded(s string, limit int) string { return text.Clean(cutAfter(s, limit)) }

// BoundedLines returns a container's message shortened, without unprintable characters. It keeps line
// breaks, because programs leave results there that others parse.
func BoundedLines(s string, limit int) string { return text.CleanLines(cutAfter(s, limit)) }

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

// IsSane reports whether the API server can parse a time after it is serialised. It cannot parse years
// with five digits, which a time zone can cause.
func IsSane(t metav1.Time) bool {
	if t.IsZero() {
		return true
	}
	year := t.UTC().Year()
	return year >= 1970 && year <= 9999
}

// SaneTime returns a time in whole seconds, or the zero time if the API server cannot parse it.
func SaneTime(t metav1.Time) metav1.Time {
	if !IsSane(t) {
		return metav1.Time{}
	}
	return metav1.Time{Time: t.Truncate(time.Second)}
}

// ReportedTime returns a time of the provider that is not in the future. The provider's clock may be
// ahead, and controllers in the consumer would wait until their clock reaches that time.
//
// was is the time that was reported before for the same event, or zero. It stays, unless the provider
// now names an earlier time. Otherwise a future time would be written again at each reconcile, and once
// more when the time has come.
func ReportedTime(theirs, was, now metav1.Time) metav1.Time {
	theirs = SaneTime(theirs)
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

// TransitionTime returns the lastTransitionTime of a condition. was is the time in the local condition
// if the status is still the same, or zero. If theirs is later, the status may have changed and changed
// back in between. Then theirs counts, unless was may be the limit that ReportedTime set instead of
// theirs.
func TransitionTime(theirs, was, now metav1.Time, ahead time.Duration) metav1.Time {
	if !was.IsZero() && !now.Before(&theirs) && theirs.Sub(was.Time)-skewUnseen > max(ahead, 0) {
		was = metav1.Time{}
	}
	return ReportedTime(theirs, was, now)
}

// IsStatus reports whether s is a status that a condition may have.
func IsStatus(s corev1.ConditionStatus) bool {
	return s == corev1.ConditionTrue || s == corev1.ConditionFalse || s == corev1.ConditionUnknown
}
