package fleet

import "github.com/spillway-io/spillway/internal/connection"

// Usage is what the connected providers hold of their budgets.
func (f *Fleet) Usage() []connection.Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []connection.Usage
	for name, cl := range f.engaged {
		c, known := f.connections[string(name)]
		if connected, ok := cl.(*connectedCluster); ok && known {
			usage := connected.ledger.usage()
			usage.ClusterID = c.target.ClusterID
			all = append(all, usage)
		}
	}
	return all
}

// usage is what it holds, and may hold.
func (l *ledger) usage() connection.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return connection.Usage{Memory: l.all.memory, MaxMemory: l.budget.Memory, Objects: l.all.objects, MaxObjects: int64(l.budget.Objects)}
}
