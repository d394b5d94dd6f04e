package syncer

import "github.com/spillway-io/spillway/internal/decide"

// mayGo reports whether an action may be carried out: of those that send, one at a
// time while the next are held back.
func (c *kindController[T]) mayGo(s decide.Snapshot[T], a decide.Action) bool {
	return c.Ended == nil || a.Verb != decide.Create || a.Side != decide.Remote || c.memory.Sent.MayGo(s.Key.Namespace)
}

// brake notes what was sent, and what the provider has ended of it. It counts for
// the local namespace alone: nobody else waits, whoever has brought it about.
func (c *kindController[T]) brake(s decide.Snapshot[T], a decide.Action) {
	if c.Ended == nil || !decide.Present(s.Local) {
		return
	}
	switch {
	case a.Verb == decide.Create && a.Side == decide.Remote:
		c.memory.Sent.Note(s.Key, s.Local.GetUID())
	case a.Verb == decide.PatchStatus && a.Side == decide.Local && c.Ended(s.Local, a.Object):
		c.memory.Sent.Ended(s.Key, s.Local.GetUID())
	}
}
