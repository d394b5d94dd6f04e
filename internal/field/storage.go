package field

import (
	"maps"
	"slices"
	"strings"
)

// Annotations by which Kubernetes records the state of a claim: that it is bound, and for which node
// the scheduler wants its volume.
const (
	AnnotationBindCompleted = "pv.kubernetes.io/bind-completed"
	AnnotationSelectedNode  = "volume.kubernetes.io/selected-node"
)

// OnNodes, InCloud and Unplugged say why a volume of the consumer is not sent.
const (
	OnNodes   = "it is on a node"
	InCloud   = "the disk belongs to the consumer's cloud; use a PersistentVolumeClaim with a CSI driver that the provider has too"
	Unplugged = "Kubernetes no longer mounts it, or only with plugins on nodes; use a CSI driver"
)

// SecretAttribute returns the first attribute that some drivers read as the name of a Secret, or "".
func SecretAttribute(attributes map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		if _, after, ok := strings.Cut(strings.ToLower(key), "secret"); ok && strings.Contains(after, "name") {
			return key
		}
	}
	return ""
}
