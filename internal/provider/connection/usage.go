package connection

// Usage is what the caches of a connected provider hold, and the limits of that.
type Usage struct {
	// ClusterID is the clusterID of the ClusterBinding.
	ClusterID string
	// Memory and MaxMemory are in bytes, as they are counted against the budget.
	Memory, MaxMemory int64
	// Objects and MaxObjects are numbers.
	Objects, MaxObjects int64
}
