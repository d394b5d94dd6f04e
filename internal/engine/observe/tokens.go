package observe

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
)

// Tokens gives pods their API tokens.
type Tokens interface {
	// Need reports whether the Secret with the tokens of a pod is at a destination. If not, it is created, and
	// the pod is enqueued once it is there, or once it is known why it cannot be. Need must be called only for a
	// pod that is otherwise sent.
	Need(ctx context.Context, pod *corev1.Pod, at decide.Destination) (decide.Need, error)
}

var errNoTokens = errors.New("no controller gives pods their API tokens")

// addTokens adds the API tokens of a new pod to its needs. They are the last thing that a pod needs: a pod that is
// not sent for another reason gets none.
func addTokens[T client.Object](ctx context.Context, o *Observer[T], s *decide.ObjectState[T], site *decide.RemoteState[T]) error {
	pod, ok := any(s.Local).(*corev1.Pod)
	waits := site.Unready() != nil || s.SendBackoff > 0 || site.Refused != nil && site.Refused.Wait > 0 || len(s.Duplicates) > 0
	if o.Kind.Tokens == nil || o.Kind.Accepts == nil || !ok || waits || !o.Kind.Tokens(s.Local, s.Inputs) {
		return nil
	}
	if accepted, _ := o.Kind.Accepts(s.Local, s.Inputs); !accepted {
		return nil
	}
	tokens := o.Tokens()
	if tokens == nil {
		return errNoTokens
	}
	need, err := tokens.Need(ctx, pod, site.Destination)
	site.Needs = append(site.Needs, need)
	return err
}
