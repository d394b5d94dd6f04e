package field

// Annotations by which Kubernetes records the state of a claim: that it is bound, and for which node
// the scheduler wants its volume.
const (
	AnnotationBindCompleted = "pv.kubernetes.io/bind-completed"
	AnnotationSelectedNode  = "volume.kubernetes.io/selected-node"
)
