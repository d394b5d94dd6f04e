package v1alpha1

// BindingFenced reports whether the manager holds its Lease in the provider, so
// that no second one, such as that of a restored copy of this cluster, writes
// there at the same time.
const BindingFenced = "Fenced"

// Reasons of BindingFenced.
const (
	// ReasonLeaseHeld: the manager holds the Lease, and renews it.
	ReasonLeaseHeld = "LeaseHeld"
	// ReasonLeaseForbidden: the credentials have no right to Leases in namespace
	// spillway-provider, as with a provider.yaml from before there was one. All
	// else works.
	ReasonLeaseForbidden = "LeaseForbidden"
	// ReasonLeaseUnavailable: the provider has no namespace spillway-provider to
	// keep the Lease in. All else works.
	ReasonLeaseUnavailable = "LeaseUnavailable"
)

// More reasons of BindingConnected. With each of them nothing is written in the
// provider.
const (
	// ReasonHeldByAnother: another manager holds the Lease in the provider, and
	// renews it. The message says which one, and since when.
	ReasonHeldByAnother = "HeldByAnother"
	// ReasonTakeOverNeeded: nobody holds the Lease now, but its generation is
	// ahead of what this ClusterBinding remembers: another manager has worked
	// there since. The message has the command that lets this one take over.
	ReasonTakeOverNeeded = "TakeOverNeeded"
	// ReasonLeaseConflict: the Lease was made by somebody else.
	ReasonLeaseConflict = "LeaseConflict"
)

const (
	// AnnotationTakeOver on a ClusterBinding lets its manager take over a Lease of
	// the generation that is its value, though another one has raised it.
	AnnotationTakeOver = "spillway.io/take-over"
	// AnnotationGeneration carries the generation of a Lease.
	AnnotationGeneration = "spillway.io/generation"
	// ProviderNamespace is where a provider keeps the accounts of its consumers,
	// and their Leases.
	ProviderNamespace = "spillway-provider"
)

// HolderStatus is the manager that works in a provider.
type HolderStatus struct {
	// generation of the Lease in the provider: it is raised by each manager that
	// takes the Lease, and once an hour, and is written here before.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`
	// identity of the manager: its host, and a number of its own.
	// +optional
	// +kubebuilder:validation:MaxLength=320
	Identity string `json:"identity,omitempty"`
}
