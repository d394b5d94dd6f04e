package v1alpha1

// ForeignPods says what pods in a provider that are not this consumer's mean for its virtual node.
// +kubebuilder:validation:Enum=Subtract;Ignore
type ForeignPods string

const (
	// ForeignPodsSubtract subtracts what they request from what the virtual node offers. The default.
	ForeignPodsSubtract ForeignPods = "Subtract"
	// ForeignPodsIgnore offers the nodes of the provider as if no other pods were there.
	ForeignPodsIgnore ForeignPods = "Ignore"
)

// Subtracts reports whether the requests of foreign pods are subtracted.
func (f ForeignPods) Subtracts() bool { return f != ForeignPodsIgnore }

// ReasonForeignPodsUnknown is the reason of BindingLimited if nothing else is missing, but the manager
// does not know what pods in the provider request that are not this consumer's. So the virtual node
// offers what they use, too. The message says why.
const ReasonForeignPodsUnknown = "ForeignPodsUnknown"

// ReasonTooBig is a reason of PodOffloaded: the pod is in the provider, whose scheduler finds no node
// for it. It requests more than any node there has, or more than the largest free node has, although
// all nodes together have enough. The message has both numbers.
const ReasonTooBig = "TooBig"
