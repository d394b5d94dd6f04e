package seeded

// Description says what a bug does, and where it should be caught.
type Description struct {
	Bug Bug
	// Breaks says in one sentence what the bug does.
	Breaks string
	// Parts of the harness that should catch it, by the names of PART.
	Parts []string
	// NeedsFault is true if only a run with a fault of those Parts shows the bug. That proves that the faults
	// happen and are noticed.
	NeedsFault bool
	// Scenarios that should catch it; empty: any.
	Scenarios []string
}

// All returns all bugs, in a fixed order.
func All() []Description {
	return []Description{
		{DeleteWithoutUID, "deletions do not say which object they mean, and may hit one that has taken its name", []string{"crash"}, false, []string{"pod-deleted"}},
		{LocalPodGoesFirst, "a pod is let go in the consumer before it is gone from the provider", []string{"crash"}, false, []string{"pod-deleted"}},
		{OffloadingReleasedFirst, "the finalizer of an offloading goes before its remote namespaces", []string{"crash"}, false, []string{"un-offload"}},
		{BindingHeldLate, "things are made in a provider before a finalizer holds the binding", []string{"crash"}, false, []string{"mount-namespace"}},
		{PodWithoutLocalUID, "remote objects do not say by UID what they stand for", []string{"crash"}, false, []string{"pod-deleted", "pod-runs-and-succeeds"}},
		{ForeignRelabelled, "our mark is put on what somebody else has made under a name that we want", []string{"outofband"}, false, []string{"foreign-pod", "foreign-configmap"}},
		{ForeignAccepted, "a namespace that is there already is taken for ours without a look", []string{"outofband"}, false, []string{"foreign-namespace"}},
		{TerminalOverwritten, "a pod that has succeeded is said to have failed when its remote one goes", []string{"outofband"}, false, []string{"remote-pod-deleted-after-its-end"}},
		{LostWithoutAsking, "a pod that the cache does not show is said to be lost, without asking the provider", []string{"outofband"}, false, []string{"mark-stripped-off-pod"}},
		{StatusForgotten, "a status that could not be written is not written again", []string{"errors"}, true, []string{"offload"}},
		{RetryLost, "an error of an API server is swallowed, and what failed is not tried again", []string{"errors"}, true, []string{"pod-deleted", "pod-runs-and-succeeds"}},
		{CopyStays, "a copy is not deleted after the last pod that needs it", []string{"crash"}, false, []string{"pod-with-configmap-secret-and-claim"}},
		{CopyReleasedFirst, "the finalizer of what was copied goes before the copy", []string{"crash"}, false, []string{"pod-with-configmap-secret-and-claim"}},
		{OrphansUnseen, "a copy whose object has gone while no manager ran is never looked at", []string{"crash"}, true, []string{"service-created-changed-deleted"}},
		{UnlistedStays, "what is taken off the list of an offloading stays in the provider", []string{"crash"}, false, []string{"services-taken-off-the-list"}},
		{PodBeforePolicy, "a pod is sent without waiting for the NetworkPolicies that select it", []string{"outofband"}, false, []string{"pod-waits-for-networkpolicy"}},
		{EndpointsUnchecked, "addresses of EndpointSlices are sent whatever ranges the provider has listed", []string{"crash"}, false, []string{"endpointslice-created-changed-deleted"}},
		{ElsewhereUncounted, "a disruption budget wants all of its pods in each provider, whatever is healthy elsewhere", []string{"crash"}, false, []string{"poddisruptionbudget-created-changed-deleted"}},
		{HostUnchecked, "an Ingress keeps its copy, whatever hosts the provider has listed", []string{"crash"}, false, []string{"ingress-life"}},
		{EntryRemovedFirst, "the entry of a namespace is removed from the map while its pods are there", []string{"crash"}, false, []string{"un-offload", "selector-moves-a-namespace"}},
		{EntriesTrusted, "what is not in a NamespaceMap is deleted in the provider, whatever the offloadings say", []string{"outofband"}, false, []string{"entry-removed", "entry-renamed"}},
		{DrainForgetsNamespaces, "a binding is released without waiting for its remote namespaces", []string{"crash"}, false, []string{"unbind"}},
		{RestartForgetsGoing, "what was being deleted when the manager starts is never looked at", []string{"crash"}, true, []string{"pod-deleted"}},
		{RestartWritesAgain, "each start writes a status that is right already", []string{"crash"}, false, []string{"bind", "offload"}},
		{IdentityUnchecked, "another cluster behind the same kubeconfig is taken for the bound cluster", []string{"identity"}, false, []string{"another-cluster"}},
		{LostForGood, "a provider that was away is never connected to again", []string{"cuts"}, true, []string{"pod-deleted", "offload"}},
		{WatchTakenAtItsWord, "what has just been written is not believed until the watch shows it", []string{"watches"}, true, []string{"pod-runs-and-succeeds", "pod-deleted"}},
		{HeldLeaseIgnored, "a Lease in a provider is taken while another manager holds it", []string{"identity"}, false, []string{"second-manager"}},
		{UnseenDeletion, "a deletion that no watch has shown, but the list after it, is not noticed", []string{"watches"}, true, []string{"selector-moves-a-namespace"}},
		{CopiedPodBelieved, "what a pod says of a remote one is believed, though it was written for another pod", []string{"crash"}, false, []string{"pod-replaced-by-its-manifest"}},
		{PodMovedWithItsNamespace, "a pod that runs in the mount namespace goes when its namespace is offloaded", []string{"crash"}, false, []string{"offload-with-mounted-pods"}},
		{AddressTakenAtItsWord, "the address that a provider names for a pod is shown here, whatever it is", []string{"outofband"}, false, []string{"hostile-address"}},
		{OwnAddressShown, "the consumer's own address is shown for a load balancer, if a provider reports it", []string{"outofband"}, false, []string{"hostile-load-balancer"}},
		{BudgetUnbounded, "what the caches hold of a provider is not counted, so that one provider can fill the memory of the manager", []string{"identity"}, false, []string{"too-large"}},
		{LimitsIgnored, "a pod is sent whatever the limits of the provider say", []string{"outofband"}, false, []string{"volume-described"}},
		{RightEndsConnection, "a right to read that is missing ends the connection, whatever it is for", []string{"identity"}, false, []string{"right-taken-away"}},
		{StatusUnpaced, "a pod's status is written as often as the provider changes it", []string{"outofband"}, false, []string{"status-flaps"}},
	}
}
