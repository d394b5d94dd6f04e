package act

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
)

// errUnconfirmed says that a deletion follows from an old cache. It is decided again.
var errUnconfirmed = errors.New("the consumer's API server does not confirm it yet")

// confirm asks the consumer's API server whether the objects that a deletion follows from are still as they were read.
// Caches may lag: for example, somebody may just have set the policy Retain.
func confirm(ctx context.Context, live client.Reader, consumer client.Client, a decide.Action) error {
	for _, seen := range a.Confirms {
		gvk, err := apiutil.GVKForObject(seen, consumer.Scheme())
		if err != nil {
			return fmt.Errorf("the kind of %T: %w", seen, err)
		}
		now := &metav1.PartialObjectMetadata{}
		now.SetGroupVersionKind(gvk)
		if err := readLive(ctx, live, seen, now); err != nil {
			return fmt.Errorf("getting %s %s of the consumer: %w", gvk.Kind, decide.KeyOf(seen), err)
		}
		if !confirms(seen, now) {
			return fmt.Errorf("%s %s: %w", gvk.Kind, decide.KeyOf(seen), errUnconfirmed)
		}
	}
	return nil
}

// readLive reads an object without a cache. now stays empty if there is none.
func readLive(ctx context.Context, live client.Reader, seen decide.Object, now client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return retry.IgnoreGone(live.Get(ctx, decide.KeyOf(seen), now))
}

// confirms compares what a deletion follows from with the API server's answer.
func confirms(seen decide.Object, now client.Object) bool {
	if seen.GetResourceVersion() != "" {
		return now.GetUID() == seen.GetUID() && now.GetResourceVersion() == seen.GetResourceVersion()
	}
	return now.GetUID() == "" || seen.GetUID() != "" && now.GetUID() != seen.GetUID()
}
