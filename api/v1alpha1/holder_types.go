package v1alpha1

// BindingFenced reports whether the manager holds its Lease in the provider, so that no
// second manager, such as that of a restored copy of this cluster, writes there at the
// same time.
const BindingFenced = "Fenced"

// Reasons of BindingFenced.
const (
	// ReasonLeaseHeld: the manager holds the Lease, and renews it.
	ReasonLeaseHeld = "LeaseHeld"
	// ReasonLeaseForbidden: the credentials have no right to Leases in the namespace
	// spillway-provider. All else works.
	ReasonLeaseForbidden = "LeaseForbidden"
	// ReasonLeaseUnavailable: the provider has no namespace spillway-provider for the
	// Lease. All else works.
	ReasonLeaseUnavailable = "LeaseUnavailable"
)

// More reasons of BindingConnected. With each of them nothing is written in the
// provider.
const (
	// ReasonHeldByAnother: another manager holds the Lease in the provider, and renews it.
	// The message says which one, and since when.
	ReasonHeldByAnother = "HeldByAnother"
	// ReasonTakeOverNeeded: nobody holds the Lease now, but its generation is ahead of
	// what this ClusterBinding remembers: another manager has worked there since. The
	// message has the command that lets this one take over.
	ReasonTakeOverNeeded = "TakeOverNeeded"
	// ReasonLeaseNotRenewed: the provider answers, but the Lease there cannot be written,
	// most often because an admission webhook fails.
	ReasonLeaseNotRenewed = "LeaseNotRenewed"
	// ReasonLeaseConflict: somebody else created the Lease.
	ReasonLeaseConflict = "LeaseConflict"
)

const (
	// AnnotationTakeOver on a ClusterBinding lets its manager take over a Lease of the
	// generation in its value, although another manager has raised it; or, if the value is
	// the identity of the manager that asks for it, of any generation, once.
	AnnotationTakeOver = "spillway.io/take-over"
	// AnnotationGeneration carries the generation of a Lease.
	AnnotationGeneration = "spillway.io/generation"
	// ProviderNamespace is the namespace in a provider with the accounts of its consumers
	// and their Leases.
	ProviderNamespace = "spillway-provider"
)

// HolderStatus is the manager that works in a provider.
type HolderStatus struct {
	// generation of the Lease in the provider. Each manager that takes the Lease raises
	// it, and so does the holder once an hour; it is recorded here first.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
	// identity of the manager: its host, and a number of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=320
	Identity string `json:"identity,omitempty"`
}
