// Package scenario describes what users, kubelets and strangers do in the runs of the fault harness, and what
// must come of it.
//
// A Scenario knows nothing of faults. It has steps, and somebody takes each step with their own client. A
// step ends when its Until has seen what users are promised, on their own objects and in the providers. A run
// with faults must get that far too, and reach the same end state.
package scenario

import (
	"context"
	"time"

	"github.com/spillway-io/spillway/test/faults/world"
)

// Func does something in a world, or returns what is still missing.
type Func func(context.Context, *world.World) error

// Unmet is the error of a Func that acts, and has waited in vain for the manager before it went on.
type Unmet struct{ error }

// NotMet wraps the error of what was missing.
func NotMet(err error) Unmet { return Unmet{err} }

// Unwrap returns the error of what was missing.
func (u Unmet) Unwrap() error { return u.error }

// Step is an action of somebody other than the manager, and its expected result.
type Step struct {
	Name string
	// Do is called once.
	Do Func
	// Until is called until it returns nil. It only reads.
	Until Func
}

// Scenario is a sequence of steps. It begins in an empty world with a running manager.
type Scenario struct {
	// Name is unique, and needs no quoting in a shell.
	Name string
	// Core scenarios are also played with two crashes.
	Core bool
	// Prepare prepares the world for the first step, and returns when it is ready. It is not part of the
	// test. nil if an empty world is enough.
	Prepare Func
	Steps   []Step
	// Patience is how long the manager may write nothing while a step is not over; 0: as long as in any scenario.
	Patience time.Duration
}

// All returns the scenarios in which nobody touches Spillway's own objects.
func All() []Scenario {
	return []Scenario{
		bindOne, unbind, rebind,
		offload, unOffload, labelled, moved, namespaceDeleted,
		podLife, podDeleted, podForced, podEndedAndDeleted, podChanged, podAgain, podReplaced, podPaused,
		podWithObjects, configMapChanged, secretDeleted,
		serviceLife, serviceMadeAgain, servicesUnlisted, unOffloadServices, policyLife, endpointSliceLife, disruptionBudgetLife, ingressLife, routeLife, balancerLife, importedClass,
		claimLife, claimRetained, claimHolds, tokenLife, tokensDeleted,
		podOverflows, podGivenUp, podDeclined, podReturns,
		twoProviders, mountNamespace, offloadMounted, commandRuns,
	}
}

// OutOfBand returns the scenarios in which somebody does. The Until of each step says what must come of it.
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

// Identity returns the scenarios in which a provider is another cluster, does not accept the manager, or is
// too large for it.
func Identity() []Scenario {
	return []Scenario{otherCluster, ownCluster, badToken, badKubeconfig, secretGone, secondManager, tooLarge, rightTakenAway}
}
