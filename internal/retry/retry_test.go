package retry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestDone(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("overtaken"))
	other := errors.New("other")
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodPatch, schema.GroupResource{}, "a", "404 page not found", 0, true)
	tests := map[string]struct {
		err   error
		fails bool
		after time.Duration
	}{
		"nothing":            {nil, false, 0},
		"a conflict":         {conflict, false, 200 * time.Millisecond},
		"a wrapped conflict": {fmt.Errorf("writing: %w", conflict), false, 200 * time.Millisecond},
		"not there":          {apierrors.NewNotFound(schema.GroupResource{}, "a"), false, 200 * time.Millisecond},
		"there already":      {apierrors.NewAlreadyExists(schema.GroupResource{}, "a"), false, 200 * time.Millisecond},
		"not served":         {unserved, true, 0},
		"any other error":    {other, true, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := Done(test.err)
			if (err != nil) != test.fails || result.RequeueAfter != test.after || (test.fails && !errors.Is(err, test.err)) {
				t.Errorf("got %v, %v", result, err)
			}
		})
	}
}

func TestIgnoreGone(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "a")
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodDelete, schema.GroupResource{}, "a", "404 page not found", 0, true)
	if IgnoreGone(nil) != nil || IgnoreGone(fmt.Errorf("deleting: %w", gone)) != nil || IgnoreGone(unserved) == nil {
		t.Error("a path that is not served is no object that is gone, and the other way round")
	}
}

func TestBackoff(t *testing.T) {
	limiter := Backoff[string]()
	if first, second := limiter.When("a"), limiter.When("a"); first != 100*time.Millisecond || second != 200*time.Millisecond {
		t.Errorf("waits %s, then %s", first, second)
	}
	for range 30 {
		limiter.When("a")
	}
	if most := limiter.When("a"); most != 30*time.Second {
		t.Errorf("waits %s in the end", most)
	}
}

func TestSameError(t *testing.T) {
	const one = "failed calling webhook: read tcp 10.0.0.1:40001->10.0.0.2:443: connection reset"
	for other, want := range map[string]bool{
		one: true,
		"failed calling webhook: read tcp 10.0.0.1:39999->10.0.0.2:443: connection reset": true,
		"failed calling webhook: context deadline exceeded":                               false,
	} {
		if got := SameError(one, other); got != want {
			t.Errorf("%q: %v", other, got)
		}
	}
}

// unanswered is a write without an answer. It is true if others were answered.
type unanswered bool

func (unanswered) Error() string  { return "no answer" }
func (u unanswered) HeldUp() bool { return bool(u) }

func TestIsServerError(t *testing.T) {
	for err, want := range map[error]bool{
		apierrors.NewInternalError(errors.New("failed calling webhook")): true,
		fmt.Errorf("creating: %w", apierrors.NewInternalError(io.EOF)):   true,
		apierrors.NewServiceUnavailable("not ready"):                     false,
		apierrors.NewTooManyRequests("slow down", 1):                     false,
		io.EOF: false,
		fmt.Errorf("creating: %w", unanswered(true)):  true,
		fmt.Errorf("creating: %w", unanswered(false)): false,
	} {
		if got := IsServerError(err); got != want {
			t.Errorf("of %v: %v", err, got)
		}
	}
}

// answer returns an API server's error with that code and reason.
func answer(code int32, reason metav1.StatusReason) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason}}
}

func TestSaysWhy(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	for err, want := range map[error]bool{
		apierrors.NewForbidden(resource, "a", nil):                             true,
		apierrors.NewBadRequest("no"):                                          true,
		fmt.Errorf("creating: %w", apierrors.NewForbidden(resource, "a", nil)): true,
		apierrors.NewConflict(resource, "a", nil):                              false,
		apierrors.NewUnauthorized("expired"):                                   false,
		apierrors.NewTooManyRequests("slow down", 1):                           false,
		apierrors.NewInternalError(io.EOF):                                     false,
		apierrors.NewTimeoutError("slow", 1):                                   false,
		answer(399, ""):                                                        false,
		answer(400, ""):                                                        true,
		answer(408, metav1.StatusReasonTimeout):                                false,
		answer(499, ""):                                                        true,
		answer(500, ""):                                                        false,
		io.EOF:                                                                 false,
	} {
		if got := SaysWhy(err); got != want {
			t.Errorf("of %v: %v", err, got)
		}
	}
}

func TestSooner(t *testing.T) {
	for _, test := range []struct{ a, b, want time.Duration }{{0, 0, 0}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {-1, 2, 2}, {2, -1, 2}} {
		if got := Sooner(test.a, test.b); got != test.want {
			t.Errorf("Sooner(%d, %d) = %d", test.a, test.b, got)
		}
	}
}
