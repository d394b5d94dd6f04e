// Package field has what all kinds share: decisions about fields, metadata, limits, classes, names and
// problems. It imports only the API, so every other package may use it.
//
// All its functions are pure: they have no client, no clock and no memory. Between two calls, the remote
// object remembers what is needed, such as which labels were copied. So a restarted manager decides like
// its predecessor.
//
// Objects for the provider are built from an allow-list of fields. Each kind has a table with a decision for
// every field of its types (fields.go), and the code that copies and refuses uses these tables. A field that
// Kubernetes adds is not sent until somebody decides about it, and a test fails until then.
//
// The price is that a pod may ask for less than a provider would grant. The manager refuses what exceeds pod
// security baseline, unless the provider's limits grant privileged. One readable rule is better than a rule
// that depends on the provider.
package field

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/field/text"
)

// Problem says why something does not happen, or happens only in part.
type Problem struct {
	// Reason is one word for programs: one of the reasons of conditions and events.
	Reason string
	// Message is a sentence for people, on one line.
	Message string
}

// Problemf returns a Problem whose message is formatted and cleaned.
func Problemf(reason, format string, args ...any) Problem {
	return Problem{Reason: reason, Message: text.Clean(fmt.Sprintf(format, args...))}
}

// Refuse is like Problemf, but returns a pointer. Functions that may refuse something return nil if
// they do not.
func Refuse(reason, format string, args ...any) *Problem {
	p := Problemf(reason, format, args...)
	return &p
}

// Error implements error.
func (p *Problem) Error() string { return p.Reason + ": " + p.Message }

// With returns the problem with more text at the end of its message. It returns nil for nil.
func (p *Problem) With(more string) *Problem {
	if p == nil {
		return nil
	}
	return &Problem{Reason: p.Reason, Message: p.Message + more}
}

// Of returns the problem with a message that names its object exactly once.
func (p Problem) Of(title string, name types.NamespacedName) Problem {
	if rest, named := strings.CutPrefix(p.Message, title+" "+name.Name); named && strings.IndexAny(rest, ": ") == 0 {
		return Problemf(p.Reason, "%s %s%s", title, Location(name), rest)
	}
	return Problemf(p.Reason, "%s %s: %s", title, Location(name), p.Message)
}

// Location returns namespace/name, or the name of an object without a namespace.
func Location(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}
