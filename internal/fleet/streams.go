package fleet

import (
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/fleet/transport"
)

// Streams opens streams to a provider with the credentials of one connection.
type Streams struct {
	*transport.Streams
	// Identity says which cluster it is, and as whom it knows us. A stream may outlive the
	// connection that it was opened with, as long as the next one has the same.
	Identity string
}

// StreamsOf returns the streams of a connection, and whether there are any: there are none
// for a cluster that the fleet has not connected.
func StreamsOf(cl cluster.Cluster) (Streams, bool) {
	p, ok := cl.(*connectedCluster)
	if !ok || p.streams.Streams == nil {
		return Streams{}, false
	}
	return p.streams, true
}
