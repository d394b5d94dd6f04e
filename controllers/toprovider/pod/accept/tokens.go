package accept

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/names"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
)

// projectedToken refuses a volume with a token that the pod itself asks for (Credentials), unless the offloading
// lists the pod's ServiceAccount. The token that Kubernetes injects is left out then.
func projectedToken(pod *corev1.Pod, in Provider) *field.Problem {
	if in.API.Grants(pod.Namespace, token.AccountOf(pod)) {
		return token.TooMany(pod)
	}
	return firstOfVolumes(&pod.Spec, func(v *corev1.Volume) *field.Problem {
		if token.IsInjected(v) || v.Projected == nil {
			return nil
		}
		for i := range v.Projected.Sources {
			asked := corev1.VolumeProjection{ServiceAccountToken: v.Projected.Sources[i].ServiceAccountToken}
			if found := volumeProjectionPlan.Violation(&asked, field.PodSecurityPrivileged); found != nil {
				return found.Refusal(fmt.Sprintf("spec.volumes[%s].projected.sources[%d]", v.Name, i))
			}
		}
		return nil
	}).With(cureOfPod)
}

// foreignToken refuses a pod that names a Secret as those with API tokens are called (Credentials). In the
// provider, it would read the tokens of another pod, also of another ServiceAccount.
func foreignToken(pod *corev1.Pod, _ Provider) *field.Problem {
	spec := pod.Spec
	spec.EphemeralContainers = nil // EphemeralContainerRefusals checks them.
	return tokenNamed(names.Places(&spec)).With(cureOfPod)
}

func tokenNamed(places []names.Place) *field.Problem {
	for _, place := range places {
		if place.Kind == names.Secret && field.IsTokenSecretName(*place.Name) {
			return field.Refuse(field.ReasonCredentials, "Secret %s cannot be used: Secrets of such a name have the API tokens of pods in the provider", *place.Name)
		}
	}
	return nil
}

// unusableAPI refuses a pod that gets API tokens while it could not use them (ConsumerAPIMissing,
// ConsumerAPIInvalid).
func unusableAPI(pod *corev1.Pod, in Provider) *field.Problem {
	switch {
	case token.Granted(pod, in.API) == nil:
		return nil
	case in.API.Endpoint == nil:
		return field.Refuse(v1alpha1.ReasonConsumerAPIMissing, "the NamespaceOffloading gives ServiceAccount %s access to the API, but the ClusterBinding does not say where pods reach it; "+
			"ask the platform engineer to set spec.consumerAPI", token.AccountOf(pod))
	case in.API.Invalid != "":
		return field.Refuse(v1alpha1.ReasonConsumerAPIInvalid, "the pod could not use the API: %s; see the condition %s of the ClusterBinding", in.API.Invalid, v1alpha1.BindingConsumerAPI)
	}
	return nil
}
