package attempts

import (
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
)

// Recall adds to an ObjectState which of its requests were refused. The local object must exist.
func Recall[T decide.Object](s *decide.ObjectState[T], k *kind.Kind[T], refusals Refusals) {
	version := Version(s.Local)
	for i := range s.RemoteStates {
		at := &s.RemoteStates[i]
		if at.Refused = refusals.Of(version, k.CopyNamespace(at.Destination), s.Now); at.Refused == nil {
			at.Refused = refusals.Of(version, "", s.Now) // Of the protection, which is for all destinations.
		}
	}
}
