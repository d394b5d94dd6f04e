package connection

// Usage is what the caches of a connected provider hold, and may hold.
type Usage struct {
	// ClusterID is that of the ClusterBinding.
	ClusterID string
	// Memory and MaxMemory are in bytes, as they are counted against the budget.
	Memory, MaxMemory int64
	// Objects and MaxObjects are numbers.
	Objects, MaxObjects int64
}
