package seeded

// Bug is the name of a seeded bug.
type Bug string

// The bugs. Each has one site, which calls On or Once.
const (
	DeleteWithoutUID        Bug = "delete-without-uid"
	LocalPodGoesFirst       Bug = "local-pod-goes-first"
	OffloadingReleasedFirst Bug = "offloading-released-first"
	BindingHeldLate         Bug = "binding-held-late"
	PodWithoutLocalUID      Bug = "pod-without-local-uid"
	ForeignRelabelled       Bug = "foreign-relabelled"
	ForeignAccepted         Bug = "foreign-accepted"
	TerminalOverwritten     Bug = "terminal-overwritten"
	LostWithoutAsking       Bug = "lost-without-asking"
	StatusForgotten         Bug = "status-forgotten"
	RetryLost               Bug = "retry-lost"
	CopyStays               Bug = "copy-stays"
	CopyReleasedFirst       Bug = "copy-released-first"
	OrphansUnseen           Bug = "orphans-unseen"
	UnlistedStays           Bug = "unlisted-stays"
	PodBeforePolicy         Bug = "pod-before-policy"
	EndpointsUnchecked      Bug = "endpoints-unchecked"
	ElsewhereUncounted      Bug = "elsewhere-uncounted"
	HostUnchecked           Bug = "host-unchecked"
	EntryRemovedFirst       Bug = "entry-removed-first"
	EntriesTrusted          Bug = "entries-trusted"
	DrainForgetsNamespaces  Bug = "drain-forgets-namespaces"
	RestartForgetsGoing     Bug = "restart-forgets-going"
	RestartWritesAgain      Bug = "restart-writes-again"
	IdentityUnchecked       Bug = "identity-unchecked"
	LostForGood             Bug = "lost-for-good"
	WatchTakenAtItsWord     Bug = "watch-taken-at-its-word"
	UnseenDeletion          Bug = "unseen-deletion"
	HeldLeaseIgnored        Bug = "held-lease-ignored"
	CopiedPodBelieved       Bug = "copied-pod-believed"
	AddressTakenAtItsWord   Bug = "address-taken-at-its-word"
	OwnAddressShown         Bug = "own-address-shown"

	PodMovedWithItsNamespace Bug = "pod-moved-with-its-namespace"
	BudgetUnbounded          Bug = "budget-unbounded"
	LimitsIgnored            Bug = "limits-ignored"
	RightEndsConnection      Bug = "right-ends-connection"
	StatusUnpaced            Bug = "status-unpaced"
)
