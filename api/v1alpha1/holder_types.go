package v1alpha1

// BindingFenced reports whether the manager holds its Lease in the provider. While it does, no
// second manager writes there, such as the manager of a restored copy of this cluster.
const BindingFenced = "Fenced"

// Reasons of BindingFenced.
const (
	// ReasonLeaseHeld: the manager holds the Lease and renews it.
	ReasonLeaseHeld = "LeaseHeld"
	// ReasonLeaseForbidden: the credentials give no right to Leases in the namespace
	// spillway-provider. Everything else works.
	ReasonLeaseForbidden = "LeaseForbidden"
	// ReasonLeaseUnavailable: the provider has no namespace spillway-provider for the Lease.
	// Everything else works.
	ReasonLeaseUnavailable = "LeaseUnavailable"
)

// More reasons of BindingConnected. While one of them applies, the manager writes nothing in the
// provider.
const (
	// ReasonHeldByAnother: another manager holds the Lease in the provider and renews it. The
	// message says which manager, and since when.
	ReasonHeldByAnother = "HeldByAnother"
	// ReasonTakeOverNeeded: nobody holds the Lease, but its generation is higher than this
	// ClusterBinding remembers. So another manager has worked in the provider since then. The
	// message has the command that lets this manager take over.
	ReasonTakeOverNeeded = "TakeOverNeeded"
	// ReasonLeaseNotRenewed: the provider answers, but the manager cannot write the Lease. Most
	// often an admission webhook fails.
	ReasonLeaseNotRenewed = "LeaseNotRenewed"
	// ReasonLeaseConflict: somebody else created the Lease.
	ReasonLeaseConflict = "LeaseConflict"
)

const (
	// AnnotationTakeOver on a ClusterBinding lets its manager take over the Lease although another
	// manager has raised its generation. The value is that generation. Or it is the identity of
	// this manager, which may then take over any generation, once.
	AnnotationTakeOver = "spillway.io/take-over"
	// AnnotationGeneration holds the generation of a Lease.
	AnnotationGeneration = "spillway.io/generation"
	// ProviderNamespace is the namespace in a provider that contains the ServiceAccounts of its
	// consumers and their Leases.
	ProviderNamespace = "spillway-provider"
)

// HolderStatus is the manager that works in a provider.
type HolderStatus struct {
	// generation of the Lease in the provider. Each manager that takes the Lease raises it, and the
	// holder raises it once an hour. The manager records it here before it writes the Lease.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
	// identity of the manager: its host name, and a number of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=320
	Identity string `json:"identity,omitempty"`
}
