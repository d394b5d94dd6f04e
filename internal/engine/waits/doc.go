// Package waits knows who waits for which object. An object that a pod needs is reconciled on its own. When it
// is ready, the pod is reconciled.
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
//	       ▼                            NoteWrite: before its requests are sent
//	condition Offloaded=False                   │
//	                                            ▼
//	enqueued again ◄──────────────────── Reconciled: whoever waits is enqueued; and if anything was
//	       │                                    written, or the problem is another one,
//	       ▼                                    all that need settings
//	Ask: ready, web does not wait
//
// Ask first notes who asks, and then looks. If the object changes after the lookup, it is reconciled later, and
// the end of that reconcile finds the note. So one lookup is enough, and nobody waits for ever. The note of a
// write outlives a failed reconcile, because a request may take effect although its answer is lost. It also
// outlives the object.
package waits
