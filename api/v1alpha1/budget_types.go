package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// The budget of a provider if its ClusterBinding sets none.
const (
	// DefaultBudgetMemory is in bytes.
	DefaultBudgetMemory int64 = 256 << 20
	// DefaultBudgetObjects is a number of objects.
	DefaultBudgetObjects int32 = 50_000
)

// Budget limits how much memory the manager uses for one provider: for the objects there that carry
// Spillway's mark, and for its nodes. If the provider exceeds the budget, the connection ends with
// Connected=False and the reason TooLarge. A change of the budget also ends the connection, and a
// new one begins at once. One namespace may use a quarter of the budget, and all namespaces
// together 80%. Beyond that, pods wait with the reason OverBudget.
type Budget struct {
	// memory limits the caches of this provider, from 8Mi to 16Gi, such as 512Mi. A pod needs about
	// 10Ki. Defaults to 256Mi. Set the manager's own memory limit to the usual use of all providers
	// together, plus the budget of one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? (self >= 8388608 && self <= 17179869184) : (isQuantity(self) && quantity(self).compareTo(quantity('8Mi')) >= 0 && quantity(self).compareTo(quantity('16Gi')) <= 0)",message="memory must be a quantity from 8Mi to 16Gi, such as 512Mi"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// objects limits how many objects the caches of this provider may hold, from 100 to
	// 1000000. Defaults to 50000.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=1000000
	Objects *int32 `json:"objects,omitempty"`
}

// MemoryBytes returns the memory limit in bytes, or the default.
func (b *Budget) MemoryBytes() int64 {
	if b.Memory == nil {
		return DefaultBudgetMemory
	}
	return b.Memory.Value()
}

// MaxObjects returns the limit of objects, or the default.
func (b *Budget) MaxObjects() int32 {
	if b.Objects == nil {
		return DefaultBudgetObjects
	}
	return *b.Objects
}
