package shard

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
)

// Everywhere returns a manager that runs what is added to it in all replicas, elected or not. It is for work
// on one binding.
func Everywhere(mgr manager.Manager) manager.Manager { return everywhere{mgr} }

type everywhere struct{ manager.Manager }

// Add adds a runnable that runs in all replicas.
func (m everywhere) Add(r manager.Runnable) error { return m.Manager.Add(unelected{r}) }

type unelected struct{ manager.Runnable }

var _ manager.LeaderElectionRunnable = unelected{}

// NeedLeaderElection returns false.
func (unelected) NeedLeaderElection() bool { return false }

// EverywhereAware is Everywhere for runnables that are engaged with providers.
func EverywhereAware(mgr mcmanager.Manager) mcmanager.Manager { return everywhereAware{mgr} }

type everywhereAware struct{ mcmanager.Manager }

// Add adds a runnable that runs in all replicas.
func (m everywhereAware) Add(r mcmanager.Runnable) error { return m.Manager.Add(unelectedAware{r}) }

type unelectedAware struct{ mcmanager.Runnable }

var _ manager.LeaderElectionRunnable = unelectedAware{}

// NeedLeaderElection returns false.
func (unelectedAware) NeedLeaderElection() bool { return false }
