package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spillway-io/spillway/test/faults/scenario"
)

func TestUnanswered(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":                         {nil, false},
		"it is too busy":                  {fmt.Errorf("p1: %w", apierrors.NewTooManyRequests("later", 1)), true},
		"it gave up":                      {apierrors.NewTimeoutError("slow", 1), true},
		"its own error":                   {apierrors.NewInternalError(errors.New("etcd")), true},
		"no connection":                   {fmt.Errorf("p1: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), true},
		"no answer":                       {fmt.Errorf("p1: %w", context.DeadlineExceeded), true},
		"the manager has deleted it":      {fmt.Errorf("p1: %w", apierrors.NewNotFound(pods, "web")), false},
		"a policy refuses it":             {apierrors.NewForbidden(pods, "web", errors.New("no")), false},
		"somebody else was quicker":       {apierrors.NewConflict(pods, "web", errors.New("old")), false},
		"the manager has not come so far": {fmt.Errorf("step: %w", scenario.NotMet(context.DeadlineExceeded)), false},
		"the scenario's own":              {errors.New("no object"), false},
	} {
		if got := unanswered(test.err); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
