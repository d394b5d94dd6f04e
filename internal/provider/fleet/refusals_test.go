package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/provider/gather"
)

// TestSeveralRefusalsAreOne ends a session for the same reason, whatever their order.
func TestSeveralRefusalsAreOne(t *testing.T) {
	nodes, pods, secrets := errors.New("nodes is forbidden"), errors.New("pods is forbidden"), errors.New("secrets is forbidden")
	for name, order := range map[string][]error{
		"one":                   {nodes},
		"several":               {nodes, pods, secrets},
		"several the other way": {secrets, pods, nodes},
		"one of them again":     {pods, nodes, pods},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			now := clocktesting.NewFakeClock(time.Unix(0, 0))
			r := newRefusals(now, cancel)
			for _, err := range order {
				r.add(err)
			}
			if ctx.Err() != nil {
				t.Error("the others are not waited for")
			}
			now.Step(gather.Moment)
			if got := context.Cause(ctx); !errors.Is(got, nodes) {
				t.Errorf("the session ends because %v", got)
			}
		})
	}
}
