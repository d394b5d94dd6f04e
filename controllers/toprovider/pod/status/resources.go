package status

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// Limits for a provider's strings, in characters.
const (
	maxImage = 512 // and image IDs and container IDs
	// maxTermination is how much of a termination message a kubelet keeps. Programs pass results in it,
	// so a lower limit would break them.
	maxTermination = 4096
)

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
	for _, name := range field.Resizable {
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
