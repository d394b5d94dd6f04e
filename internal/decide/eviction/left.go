package eviction

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostNamed limits how many pods a message names, and mostRefused how many answers of the API server it
	// has, because people read it.
	mostNamed   = 5
	mostRefused = 3
)

// RefusedPrefix begins the message about refused evictions.
const RefusedPrefix = "the API server refuses to evict "

// Remaining summarises the pods that have not left yet.
type Remaining struct {
	Count int
	// Names are the first few names, in order.
	Names []string
	// Refused has the first few answers in which the API server refuses an eviction. Each follows the names
	// of its pods.
	Refused []string
}

// Summarise summarises the pods. refused has the API server's answer to each pod's last eviction, if it was
// refused.
func Summarise(pods []types.NamespacedName, refused map[types.NamespacedName]string) Remaining {
	left := Remaining{Count: len(pods)}
	var names, answers []string
	alike := map[string][]string{} // A budget gives all its pods the same answer.
	for _, pod := range pods {
		name := pod.String()
		names = append(names, name)
		if answer, ok := refused[pod]; ok {
			alike[answer] = append(alike[answer], name)
		}
	}
	slices.Sort(names)
	for answer, of := range alike {
		slices.Sort(of)
		answers = append(answers, listed(of, len(of))+": "+answer)
	}
	slices.Sort(answers)
	left.Names = names[:min(len(names), mostNamed)]
	left.Refused = answers[:min(len(answers), mostRefused)]
	return left
}

// listed names the first few of count pods.
func listed(names []string, count int) string {
	text := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := count - mostNamed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// String counts the pods and names them, such as "7 pods (a/b, a/c, and 5 more)".
func (l Remaining) String() string {
	noun := "pods"
	if l.Count == 1 {
		noun = "pod"
	}
	names := strings.Join(l.Names, ", ")
	if more := l.Count - len(l.Names); more > 0 && len(l.Names) > 0 {
		names += fmt.Sprintf(", and %d more", more)
	}
	if names == "" {
		return fmt.Sprintf("%d %s", l.Count, noun)
	}
	return fmt.Sprintf("%d %s (%s)", l.Count, noun, names)
}

// Refusals says which evictions the API server refuses, and why; "" if none.
func (l Remaining) Refusals() string {
	if len(l.Refused) == 0 {
		return ""
	}
	return RefusedPrefix + strings.Join(l.Refused, "; ")
}
