// Package waits knows who waits for which object, so that an object that a pod needs is
// reconciled on its own, and the pod's turn comes when that one is ready.
//
// # How it works
//
//	pod web is reconciled               ConfigMap settings is reconciled
//	       │
//	       ▼
//	Ask: web asks for settings,
//	     is noted, then looks ────────► not there yet: enqueued
//	       │                                    │
//	       │ not ready: web waits               ▼
//	       ▼                            Wrote: before its requests are sent
//	condition Offloaded=False                   │
//	                                            ▼
//	enqueued again ◄──────────────────── Ended: whoever waits is enqueued; and if anything was
//	       │                                    written, or the verdict is another one,
//	       ▼                                    all that need settings
//	Ask: ready, web does not wait
//
// Who asks is noted first, and looks then: what changes after the look has the object reconciled
// later, and the end of that finds the note. So one look is enough, and nobody waits for ever.
// What was written outlives a reconcile that failed, because a request may have taken effect
// although its answer was lost; and it outlives the object.
package waits
