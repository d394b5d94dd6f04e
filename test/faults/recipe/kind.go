package recipe

import "slices"

// Kind says what happens at a point.
type Kind string

// The manager crashes: its transports are dead from then on, and a fresh one
// is started.
const (
	// CrashBeforeSend comes before the request is sent.
	CrashBeforeSend Kind = "crash-before-send"
	// CrashAfterCommit comes when the request has been answered, and the
	// manager has not seen the answer.
	CrashAfterCommit Kind = "crash-after-commit"
	// CrashAfterResponse comes when the manager has the answer, before its
	// next request.
	CrashAfterResponse Kind = "crash-after-response"
)

// The API server answers with an error, once.
const (
	Conflict        Kind = "conflict"          // 409
	TooManyRequests Kind = "too-many-requests" // 429, with Retry-After: 1
	InternalError   Kind = "internal-error"    // 500
	Unavailable     Kind = "unavailable"       // 503
	// TimeoutAfterCommit is an API server that has done what was asked, and
	// says that it knows nothing of it: 504, reason Timeout. An answer that
	// never comes is what a cut makes.
	TimeoutAfterCommit Kind = "timeout-after-commit"
	AlreadyExists      Kind = "already-exists" // 409, with that reason
	NotFound           Kind = "not-found"      // 404
	Forbidden          Kind = "forbidden"      // 403
)

// The cluster of the point is cut off right before the request is sent, until
// the manager has noticed.
const (
	// CutBlackHole swallows everything, and says nothing.
	CutBlackHole Kind = "cut-blackhole"
	// CutReset resets all connections, and every new one.
	CutReset Kind = "cut-reset"
)

// The watches of the point's resource show something else than what happens,
// from the event on that the point's occurrence counts.
const (
	// WatchHold holds back each event until the manager is at rest otherwise.
	WatchHold Kind = "watch-hold"
	// WatchDrop drops events until the manager is at rest, and then ends the
	// watch with 410, so that all is listed again: what was between is never seen.
	WatchDrop Kind = "watch-drop"
	// WatchDuplicate shows each event twice.
	WatchDuplicate Kind = "watch-duplicate"
	// WatchGone shows 410 instead of the event, and ends the watch.
	WatchGone Kind = "watch-gone"
)

// Crashes are the kinds that end the manager.
func Crashes() []Kind { return []Kind{CrashBeforeSend, CrashAfterCommit, CrashAfterResponse} }

// Errors are the kinds that are answered in place of an API server.
func Errors() []Kind {
	return []Kind{Conflict, TooManyRequests, InternalError, Unavailable, TimeoutAfterCommit, AlreadyExists, NotFound, Forbidden}
}

// Cuts are the kinds that keep a cluster away.
func Cuts() []Kind { return []Kind{CutBlackHole, CutReset} }

// Watches are the kinds that tamper with watches.
func Watches() []Kind { return []Kind{WatchHold, WatchDrop, WatchDuplicate, WatchGone} }

// Kinds are all of them.
func Kinds() []Kind { return slices.Concat(Crashes(), Errors(), Cuts(), Watches()) }

// IsCrash reports whether the kind ends the manager.
func (k Kind) IsCrash() bool { return slices.Contains(Crashes(), k) }

// IsCut reports whether the kind keeps a cluster away.
func (k Kind) IsCut() bool { return slices.Contains(Cuts(), k) }

// IsWatch reports whether the kind tampers with watches.
func (k Kind) IsWatch() bool { return slices.Contains(Watches(), k) }
