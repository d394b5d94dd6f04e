package oracle

import (
	"strings"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// Consumer is what the consumer of a lane is called, whatever the lane.
const Consumer = "consumer"

// LabelLane may be put by scenarios on what they make in a provider, with the
// lane's ConsumerID: providers are shared by lanes. What lies in a namespace
// whose name ends with "-" and the ConsumerID needs none, nor does what carries
// the origin of the lane's consumer.
const LabelLane = "faults.spillway.io/lane"

// Lane is the clusters that one ledger watches.
type Lane struct {
	// ConsumerID is the manager's --cluster-id. It is masked in the State.
	ConsumerID string
	// Clusters are the consumer, then the providers, by their clusterIDs.
	Clusters []*rig.Cluster
}

// name of the i-th cluster: Consumer, or the ID of the provider.
func (l Lane) name(i int) string {
	if i == 0 {
		return Consumer
	}
	return l.Clusters[i].ID
}

// ownName reports whether a namespace of a provider is the lane's by its name.
func (l Lane) ownName(namespace string) bool {
	return strings.HasSuffix(namespace, "-"+l.ConsumerID)
}
