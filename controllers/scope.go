package controllers

import (
	ctrl "sigs.k8s.io/controller-runtime"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/shard"
)

// scope is where the work for single bindings runs: in the elected replica for all bindings, or, if replicas
// share them, in each replica for its own. Work for the whole consumer is added to the manager itself, and
// always runs in the elected replica.
type scope struct {
	local ctrl.Manager
	all   mcmanager.Manager
	owner shard.Owner
	// sharing is set if replicas share the bindings.
	sharing bool
}

func scopeOf(mgr mcmanager.Manager, sharing *shard.Coordinator) scope {
	if sharing == nil {
		return scope{local: mgr.GetLocalManager(), all: mgr, owner: shard.All{}}
	}
	return scope{local: shard.Everywhere(mgr.GetLocalManager()), all: shard.EverywhereAware(mgr), owner: sharing, sharing: true}
}

// counter counts the pods that must leave the virtual nodes of all bindings.
func (s scope) counter(present *inventory.Inventory) inventory.Counter {
	if !s.sharing {
		return present
	}
	return inventory.StatusCounter{Reader: s.local.GetClient()}
}
