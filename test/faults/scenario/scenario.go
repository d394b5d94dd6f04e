// Package scenario is what users, kubelets and strangers do in the runs of the
// fault harness, and what is to come of it.
//
// A Scenario says nothing of faults. It has steps, each of which somebody takes
// by a client of his own, and which is over when its Until has seen what users
// are promised: on the objects that they look at, and in the providers. A run
// with faults has to get there too, and to the same end state.
package scenario

import (
	"context"

	"github.com/spillway-io/spillway/test/faults/world"
)

// Func does something in a world, or says what is not yet there.
type Func func(context.Context, *world.World) error

// Unmet is the error of a Func that does something, and has waited in vain for the
// manager before it went on.
type Unmet struct{ error }

// NotMet is the Unmet of what was not there.
func NotMet(err error) Unmet { return Unmet{err} }

// Unwrap is what was not there.
func (u Unmet) Unwrap() error { return u.error }

// Step is what somebody other than the manager does, and what comes of it.
type Step struct {
	Name string
	// Do is called once.
	Do Func
	// Until is called until it returns nil. It only reads.
	Until Func
}

// Scenario is a sequence of steps, which begins in an empty world with a
// manager that runs.
type Scenario struct {
	// Name is unique, and needs no quoting in a shell.
	Name string
	// Core scenarios are also played with two crashes.
	Core bool
	// Prepare brings the world to where the steps begin, and returns when it is
	// there. It is not part of what is tested. nil, if an empty world will do.
	Prepare Func
	Steps   []Step
}

// All are the scenarios in which nobody touches what is Spillway's.
func All() []Scenario {
	return []Scenario{
		bindOne, unbind, rebind,
		offload, unOffload, labelled, moved, namespaceDeleted,
		podLife, podDeleted, podForced, podEndedAndDeleted, podChanged, podAgain, podReplaced, podPaused,
		podWithObjects, configMapChanged, secretDeleted,
		serviceLife, serviceMadeAgain, servicesUnlisted, unOffloadServices, policyLife, endpointSliceLife, disruptionBudgetLife, ingressLife, routeLife, balancerLife, importedClass,
		twoProviders, mountNamespace, offloadMounted, commandRuns,
	}
}

// OutOfBand are those in which somebody does. What is to become of it is in the
// Until of each step.
func OutOfBand() []Scenario {
	return []Scenario{
		remoteNamespaceDeleted, remotePodDeleted, remotePodOfEndedDeleted, remotePodMadeAgain, copyDeleted,
		namespaceUnlabelled, podUnlabelled, copyUnlabelled,
		offloadingReleased, offloadingGone, bindingReleased, bindingGone, originalReleased,
		mapDeleted, entryRemoved, entryRenamed, mapStatusWiped, offloadingStatusWiped, bindingStatusWiped, virtualNodeDeleted,
		serviceOpened,
		foreignNamespace, foreignPod, foreignConfigMap, foreignService, policyFirst, hostileAddress, hostileBalancer, statusFlaps, volumeDescribed,
		commandAndProviderAway, commandAndHandover,
	}
}

// Identity are those in which a provider is not what it was, does not accept the
// manager, or is too large for it.
func Identity() []Scenario {
	return []Scenario{otherCluster, ownCluster, badToken, badKubeconfig, secretGone, secondManager, tooLarge, rightTakenAway}
}
