package accept

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// quantities refuses a pod with a quantity that costs too much to decode when the provider sends it back
// (QuantityOutOfBounds). It does not check the divisors of resource fields, because Kubernetes allows only a
// few. Nor does it check the overhead, which is not sent.
func quantities(pod *corev1.Pod, _ Provider) *field.Problem {
	return cmp.Or(resourcesOfPod(&pod.Spec), firstOfContainers(&pod.Spec, resourcesOfContainer), firstOfVolumes(&pod.Spec, sizeOfVolume)).With(cureOfQuantity)
}

func resourcesOfPod(spec *corev1.PodSpec) *field.Problem {
	if spec.Resources != nil {
		if name := field.UnboundedRequirement(spec.Resources); name != "" {
			return field.QuantityRefusal("spec.resources." + name)
		}
	}
	return nil
}

func resourcesOfContainer(list string, c *corev1.Container) *field.Problem {
	if name := field.UnboundedRequirement(&c.Resources); name != "" {
		return field.QuantityRefusal("spec." + list + "[" + c.Name + "].resources." + name)
	}
	return nil
}

func sizeOfVolume(v *corev1.Volume) *field.Problem {
	if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && !field.IsBounded(*v.EmptyDir.SizeLimit) {
		return field.QuantityRefusal("spec.volumes[" + v.Name + "].emptyDir.sizeLimit")
	}
	return nil
}
