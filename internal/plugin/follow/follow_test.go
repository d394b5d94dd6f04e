package follow

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestAgain: after a failed read, look is called again. If the object is gone, it is not.
func TestAgain(t *testing.T) {
	away, gone := errors.New("away"), apierrors.NewNotFound(schema.GroupResource{Resource: "bindings"}, "eu")
	tests := map[string]struct {
		first error
		want  error
		looks int
	}{
		"it is away for once": {Again(fmt.Errorf("reading: %w", away)), nil, 2},
		"it is gone":          {Again(fmt.Errorf("reading: %w", gone)), gone, 1},
		"it is over":          {away, away, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			looks := 0
			// Nothing is watched, so only a failed look leads to another one.
			err := Until(t.Context(), fake.NewClientBuilder().Build(), nil, func(context.Context) (bool, error) {
				if looks++; looks < 2 {
					return false, test.first
				}
				return true, nil
			})
			if !errors.Is(err, test.want) || looks != test.looks {
				t.Errorf("got %v after %d looks", err, looks)
			}
		})
	}
	ended, end := context.WithCancelCause(t.Context())
	end(away)
	if err := Until(ended, fake.NewClientBuilder().Build(), []Watched{{List: &corev1.PodList{}}}, func(ctx context.Context) (bool, error) {
		return false, Again(ctx.Err())
	}); !errors.Is(err, away) {
		t.Errorf("got %v, want why the context ended", err)
	}
}
