package field

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// LeftOut says what a remote object lacks of the local one, or returns "" if it lacks nothing.
func LeftOut(remote metav1.Object) string {
	return remote.GetAnnotations()[v1alpha1.AnnotationLeftOut]
}

// Omission is a part of a local object that its remote object lacks.
type Omission struct {
	// Field is the path of the part, such as spec.ingress[0].from[1].
	Field string
	// Why tells people the cause.
	Why string
}

// omissionsShown is how many omissions a message names at most.
const omissionsShown = 3

// mostOmitted limits a message, in bytes. The message is in an annotation of the remote object, and in
// an event.
const mostOmitted = 1000

// Omitted returns a message that names what was left out of a policy, or "" if nothing was.
func Omitted(all []Omission) string {
	if len(all) == 0 {
		return ""
	}
	return DescribeOmissions("left out, so the provider allows less than the consumer: ", all)
}

// DescribeOmissions returns text, and behind it the first parts that were left out.
func DescribeOmissions(text string, all []Omission) string {
	var shown []string
	for _, o := range all {
		shown = append(shown, o.Field+" ("+o.Why+")")
	}
	text += Few(shown, omissionsShown)
	return strings.ToValidUTF8(text[:min(len(text), mostOmitted)], "")
}

// Few joins the first items of a list, and says how many more there are.
func Few(all []string, most int) string {
	text := strings.Join(all[:min(len(all), most)], ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// UnsentLabel returns a label that a selector names, but that pods are sent without, or "". The remote
// pod lacks the label, or has the provider's value of it. PodSelector translates other selectors.
func UnsentLabel(selector *metav1.LabelSelector, limits *Limits) string {
	if selector == nil {
		return ""
	}
	keys := slices.Collect(maps.Keys(selector.MatchLabels))
	for i := range selector.MatchExpressions {
		keys = append(keys, selector.MatchExpressions[i].Key)
	}
	return UnsentKey(slices.Values(keys), limits)
}

// UnsentKey returns the first key, in order, of a label that remote pods do not get, or "".
func UnsentKey(keys iter.Seq[string], limits *Limits) string {
	for _, key := range slices.Sorted(keys) {
		if !isSentLabel(key, limits) {
			return key
		}
	}
	return ""
}

// isSentLabel reports whether remote pods get this label of the local pods, under its own key or an alias.
func isSentLabel(key string, limits *Limits) bool {
	return Alias(key) != "" || IsCopiedLabel(key) && limits.Sends(key)
}
