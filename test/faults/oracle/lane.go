package oracle

import (
	"strings"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// Consumer is the name of the consumer in every lane.
const Consumer = "consumer"

// LabelLane marks what scenarios create in a provider. Its value is the lane's ConsumerID. Lanes share
// providers, so an object needs the label to be counted. Two kinds of objects do not: those in a namespace
// whose name ends with "-" and the ConsumerID, and those with the origin of the lane's consumer.
const LabelLane = "faults.spillway.io/lane"

// Lane is the clusters that one ledger watches.
type Lane struct {
	// ConsumerID is the manager's --cluster-id. The State masks it.
	ConsumerID string
	// Clusters are the consumer, then the providers.
	Clusters []*rig.Cluster
}

// name returns the name of the i-th cluster: Consumer, or the ID of the provider.
func (l Lane) name(i int) string {
	if i == 0 {
		return Consumer
	}
	return l.Clusters[i].ID
}

// ownName reports whether the name of a provider's namespace is one of the lane's.
func (l Lane) ownName(namespace string) bool {
	return strings.HasSuffix(namespace, "-"+l.ConsumerID)
}
