package recipe

import "slices"

// Kind says what happens at a point.
type Kind string

// The manager crashes: its transports are dead from then on, and a new manager starts.
const (
	// CrashBeforeSend happens before the request is sent.
	CrashBeforeSend Kind = "crash-before-send"
	// CrashAfterCommit happens when the API server has answered the request and the manager has not seen the
	// answer.
	CrashAfterCommit Kind = "crash-after-commit"
	// CrashAfterResponse happens when the manager has the answer, before its next request.
	CrashAfterResponse Kind = "crash-after-response"
)

// The API server answers with an error, once.
const (
	Conflict        Kind = "conflict"          // 409
	TooManyRequests Kind = "too-many-requests" // 429, with Retry-After: 1
	InternalError   Kind = "internal-error"    // 500
	Unavailable     Kind = "unavailable"       // 503
	// TimeoutAfterCommit: the API server does what was asked, and answers 504 with reason Timeout. For an
	// answer that never comes, use a cut.
	TimeoutAfterCommit Kind = "timeout-after-commit"
	AlreadyExists      Kind = "already-exists" // 409, with that reason
	NotFound           Kind = "not-found"      // 404
	Forbidden          Kind = "forbidden"      // 403
)

// The cluster of the point is disconnected right before the request is sent, until the manager has noticed.
const (
	// CutBlackHole silently swallows all data.
	CutBlackHole Kind = "cut-blackhole"
	// CutReset resets all connections, and every new one.
	CutReset Kind = "cut-reset"
)

// The watches of the point's resource do not show what happens. The point's occurrence is the event at which
// this begins.
const (
	// WatchHold holds back each event until the manager is otherwise at rest.
	WatchHold Kind = "watch-hold"
	// WatchDrop drops events until the manager is at rest, and then ends the watch with 410, so that the
	// manager lists again. It never sees the versions in between.
	WatchDrop Kind = "watch-drop"
	// WatchDuplicate shows each event twice.
	WatchDuplicate Kind = "watch-duplicate"
	// WatchGone shows 410 instead of the event, and ends the watch.
	WatchGone Kind = "watch-gone"
)

// Crashes returns the kinds that end the manager.
func Crashes() []Kind { return []Kind{CrashBeforeSend, CrashAfterCommit, CrashAfterResponse} }

// Errors returns the kinds that answer instead of an API server.
func Errors() []Kind {
	return []Kind{Conflict, TooManyRequests, InternalError, Unavailable, TimeoutAfterCommit, AlreadyExists, NotFound, Forbidden}
}

// Cuts returns the kinds that disconnect a cluster.
func Cuts() []Kind { return []Kind{CutBlackHole, CutReset} }

// Watches returns the kinds that tamper with watches.
func Watches() []Kind { return []Kind{WatchHold, WatchDrop, WatchDuplicate, WatchGone} }

// Kinds returns all kinds.
func Kinds() []Kind { return slices.Concat(Crashes(), Errors(), Cuts(), Watches()) }

// IsCrash reports whether the kind ends the manager.
func (k Kind) IsCrash() bool { return slices.Contains(Crashes(), k) }

// IsCut reports whether the kind disconnects a cluster.
func (k Kind) IsCut() bool { return slices.Contains(Cuts(), k) }

// IsWatch reports whether the kind tampers with watches.
func (k Kind) IsWatch() bool { return slices.Contains(Watches(), k) }
