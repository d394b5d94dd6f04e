package ui

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestLostRight: whoever loses a right is told so, and does not ask again.
func TestLostRight(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	changes := 0
	w := &watcher{stop: stop}
	for _, err := range []error{nil, context.DeadlineExceeded, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil), context.Canceled} {
		if got := w.note(ctx, err, func() { changes++ }); got != err { //nolint:errorlint // It is the same error.
			t.Errorf("%v has become %v", err, got)
		}
	}
	problem, refused := w.says()
	if !refused || !strings.Contains(problem, "forbidden") || ctx.Err() == nil || changes != 3 {
		t.Errorf("problem %q, refused %v, %v, %d changes", problem, refused, ctx.Err(), changes)
	}
}
