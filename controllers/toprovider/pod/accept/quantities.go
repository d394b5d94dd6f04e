package accept

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// quantities refuses a pod with a quantity that costs too much to decode when the provider sends it back
// (QuantityOutOfBounds). It does not check the divisors of resource fields, because Kubernetes allows only a
// few. Nor does it check the overhead, which is not sent.
func quantities(pod *corev1.Pod, _ Provider) *field.Problem {
	return quantityRefusal(&pod.Spec).With(cureOfQuantity)
}

func quantityRefusal(spec *corev1.PodSpec) *field.Problem {
	if r := spec.Resources; r != nil {
		if name := field.UnboundedRequirement(r); name != "" {
			return field.QuantityRefusal("spec.resources." + name)
		}
	}
	if refusal := firstRefusal(spec, containerQuantities); refusal != nil {
		return refusal
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && !field.IsBounded(*v.EmptyDir.SizeLimit) {
			return field.QuantityRefusal("spec.volumes[" + v.Name + "].emptyDir.sizeLimit")
		}
	}
	return nil
}

func containerQuantities(list string, c *corev1.Container) *field.Problem {
	if name := field.UnboundedRequirement(&c.Resources); name != "" {
		return field.QuantityRefusal("spec." + list + "[" + c.Name + "].resources." + name)
	}
	return nil
}
