package fleet

import "github.com/spillway-io/spillway/internal/connection"

// Usage returns how much of their budgets the connected providers use.
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

func (l *ledger) usage() connection.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return connection.Usage{Memory: l.all.memory, MaxMemory: l.budget.Memory, Objects: l.all.objects, MaxObjects: int64(l.budget.Objects)}
}
