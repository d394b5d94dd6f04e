// Package accept decides whether a provider may get a pod, and which fields of a pod are sent.
//
// checks.go has the list of all reasons not to send a pod. Refusal asks it about one provider. NeverSent and
// BaselineRefusal ask it before a provider is chosen. fields_*.go has a decision for each field.
package accept

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/names"
	"github.com/spillway-io/spillway/internal/field"
)

const (
	// cureOfPod tells the owner what to do about a pod with a refused spec.
	cureOfPod = "; recreate the pod without it, or, to run it on the consumer's own nodes, first set podOffloadingStrategy of the NamespaceOffloading to LocalAndRemote"
	// cureOfPodSecurity is for a pod that a provider with other limits would accept.
	cureOfPodSecurity = "; a provider can also allow it (podSecurity: privileged in ConfigMap spillway-provider/limits)"
	// cureOfQuantity is for a quantity so large that it can only mean "unlimited".
	cureOfQuantity = "; set a smaller one, or none"
	// CureOfDebugContainer is for the default profile of kubectl debug, which adds SYS_PTRACE.
	CureOfDebugContainer = "; use kubectl debug --profile=baseline, which needs none of this"
)

// Provider is what the checks must know about a provider.
type Provider struct {
	// Limits are the limits of the provider. They are nil before a provider is chosen. Then pod security
	// baseline counts.
	Limits *field.Limits
	// Classes maps the consumer's classes to the provider's.
	Classes field.Classes
	// Has says whether the provider has a class.
	Has field.Has
	// Accounts maps the consumer's ServiceAccounts to the provider's.
	Accounts field.Accounts
	// TargetFor returns where the pods of a local namespace go. It is needed only with Accounts.
	TargetFor func(namespace string) field.Target
	// API says which pods use the consumer's API, and where they reach it.
	API field.ConsumerAPI
}

// cure tells the owner what to do about a pod that exceeds pod security baseline.
func (p Provider) cure() string {
	if p.Limits == nil {
		return cureOfPod
	}
	return cureOfPod + cureOfPodSecurity
}

// Refusal says why a provider does not get a pod, or returns nil. It is for a pod that is not in the provider
// yet. A pod gets its ephemeral containers later, and EphemeralContainerRefusals checks these.
func Refusal(pod *corev1.Pod, in Provider) *field.Problem { return first(pod, in, provider) }

// BaselineRefusal says why no provider that grants only pod security baseline gets a pod, or returns nil, for a
// pod whose ServiceAccount is not listed by its offloading. It checks only fields of the spec that cannot change while the pod lives.
//
// The policy config/policy/pods.yaml has the same rule. It keeps such a pod off virtual nodes while the
// pod can still run on another node.
func BaselineRefusal(pod *corev1.Pod) *field.Problem { return first(pod, Provider{}, standard) }

// NeverSent says why no provider gets a pod, whatever its limits are, or returns nil.
func NeverSent(pod *corev1.Pod) *field.Problem { return first(pod, Provider{}, podAlone) }

// EphemeralContainerRefusals says why some ephemeral containers are not sent to a provider with these
// limits. The pod keeps running without them.
func EphemeralContainerRefusals(pod *corev1.Pod, limits *field.Limits) []*field.Problem {
	var refusals []*field.Problem
	for i := range pod.Spec.EphemeralContainers {
		if refusal := ephemeralContainerRefusal(&pod.Spec.EphemeralContainers[i], &pod.Spec, limits.Standard()); refusal != nil {
			refusals = append(refusals, refusal.With(CureOfDebugContainer))
		}
	}
	return refusals
}

func ephemeralContainerRefusal(c *corev1.EphemeralContainer, spec *corev1.PodSpec, under field.Standard) *field.Problem {
	container := (*corev1.Container)(&c.EphemeralContainerCommon)
	if refusal := tokenNamed(names.Of(container)); refusal != nil {
		return refusal
	}
	return containerRefusal("ephemeralContainers", container, spec, under)
}

// AllowedEphemeralContainers returns the ephemeral containers that are not refused.
func AllowedEphemeralContainers(pod *corev1.Pod, limits *field.Limits) []corev1.EphemeralContainer {
	refused := func(c corev1.EphemeralContainer) bool {
		return ephemeralContainerRefusal(&c, &pod.Spec, limits.Standard()) != nil
	}
	if !slices.ContainsFunc(pod.Spec.EphemeralContainers, refused) {
		return pod.Spec.EphemeralContainers
	}
	return slices.DeleteFunc(slices.Clone(pod.Spec.EphemeralContainers), refused)
}
