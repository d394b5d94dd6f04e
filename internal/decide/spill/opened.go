package spill

import (
	"strconv"
	"strings"
	"time"
)

// Opened are the tiers that were opened for a pod, in order. The first tier is missing, unless the pod got
// tolerations for it after its creation. The annotation v1alpha1.AnnotationOverflow holds it: users see when which
// tier was tried, and a manager that starts knows how long the pod has waited.
type Opened []Opening

// Opening is when a tier was opened, or when the pod got the tolerations of another provider in it.
type Opening struct {
	Tier int
	At   time.Time
}

// ParseOpened reads the annotation. Users may write it. So it ignores what it does not understand, from there on.
func ParseOpened(text string) Opened {
	var opened Opened
	for part := range strings.SplitSeq(text, ",") {
		tier, at, _ := strings.Cut(part, "=")
		n, err := strconv.ParseUint(tier, 10, 8)
		if err != nil || len(opened) > 0 && int(n) <= opened.last().Tier {
			break
		}
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			break
		}
		opened = append(opened, Opening{int(n), when})
	}
	return opened
}

// With notes that the pod gets tolerations now, and may use the tiers up to this one.
func (o Opened) With(tier int, now time.Time) Opened {
	if len(o) > 0 && o.last().Tier >= tier {
		tier, o = o.last().Tier, o[:len(o)-1]
	}
	return append(o[:len(o):len(o)], Opening{tier, now})
}

// String returns the annotation: 1=2026-01-02T03:04:05Z,2=2026-01-02T03:04:15Z.
func (o Opened) String() string {
	parts := make([]string, len(o))
	for i, opening := range o {
		parts[i] = strconv.Itoa(opening.Tier) + "=" + opening.At.UTC().Format(time.RFC3339)
	}
	return strings.Join(parts, ",")
}

func (o Opened) last() Opening {
	if len(o) == 0 {
		return Opening{}
	}
	return o[len(o)-1]
}
