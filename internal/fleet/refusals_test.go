package fleet

import (
	"context"
	"errors"
	"testing"
)

// TestSeveralRefusalsAreOne ends a session for the same reason, in whatever order they come.
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
			r := &refusals{end: cancel}
			for _, err := range order {
				r.add(err)
			}
			<-ctx.Done()
			if got := context.Cause(ctx); !errors.Is(got, nodes) {
				t.Errorf("the session ends because %v", got)
			}
		})
	}
}
