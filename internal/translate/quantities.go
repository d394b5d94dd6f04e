package translate

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/quantity"
)

// The manager ends the connection to a provider that sends a quantity that costs too much to decode. If
// it sent such a quantity, the quantity would come back. Then a single pod could disconnect the
// provider for everybody.

// podQuantities says which quantity of a pod may not be sent, or returns nil. It does not check the
// divisors of resource fields, because Kubernetes allows only a few. Nor does it check the overhead,
// which is not sent.
func podQuantities(spec *corev1.PodSpec) *field.Problem {
	if r := spec.Resources; r != nil {
		if name := unboundedRequirement(r); name != "" {
			return quantityRefusal("spec.resources." + name)
		}
	}
	if refusal := firstRefusal(spec, containerQuantities); refusal != nil {
		return refusal
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && !isBounded(*v.EmptyDir.SizeLimit) {
			return quantityRefusal("spec.volumes[" + v.Name + "].emptyDir.sizeLimit")
		}
	}
	return nil
}

func containerQuantities(list string, c *corev1.Container) *field.Problem {
	if name := unboundedRequirement(&c.Resources); name != "" {
		return quantityRefusal("spec." + list + "[" + c.Name + "].resources." + name)
	}
	return nil
}

// unboundedRequirement returns the name of the first request or limit that may not be sent, or "".
func unboundedRequirement(r *corev1.ResourceRequirements) string {
	if name := unbounded(r.Requests); name != "" {
		return "requests." + name
	}
	if name := unbounded(r.Limits); name != "" {
		return "limits." + name
	}
	return ""
}

// unbounded returns the name of the first quantity that may not be sent, or "".
func unbounded(list corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if !isBounded(list[name]) {
			return string(name)
		}
	}
	return ""
}

// isBounded reports whether a quantity may be sent. It checks the text, which the provider sends back.
func isBounded(q resource.Quantity) bool { return quantity.Bounded(q.String()) }

func quantityRefusal(path string) *field.Problem {
	return field.Refuse(ReasonQuantity, "%s has more than %d characters, or an exponent beyond %d", path, quantity.MaxLength, quantity.MaxExponent)
}
