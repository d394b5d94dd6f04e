package field

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/internal/field/quantity"
)

// The manager ends the connection to a provider that sends a quantity that costs too much to decode. If
// it sent such a quantity, the quantity would come back. Then a single pod could disconnect the
// provider for everybody.

// UnboundedRequirement returns the name of the first request or limit that may not be sent, or "".
func UnboundedRequirement(r *corev1.ResourceRequirements) string {
	if name := Unbounded(r.Requests); name != "" {
		return "requests." + name
	}
	if name := Unbounded(r.Limits); name != "" {
		return "limits." + name
	}
	return ""
}

// Unbounded returns the name of the first quantity that may not be sent, or "".
func Unbounded(list corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if !IsBounded(list[name]) {
			return string(name)
		}
	}
	return ""
}

// IsBounded reports whether a quantity may be sent. It checks the text, which the provider sends back.
func IsBounded(q resource.Quantity) bool { return quantity.Bounded(q.String()) }

// QuantityRefusal refuses an object with a quantity that may not be sent. path is the quantity's field.
func QuantityRefusal(path string) *Problem {
	return Refuse(ReasonQuantity, "%s has more than %d characters, or an exponent beyond %d", path, quantity.MaxLength, quantity.MaxExponent)
}
