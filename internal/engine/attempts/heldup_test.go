package attempts

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
)

// TestHeldUp checks after which writes of a namespace at most two more are sent at a time, and what does not wait.
func TestHeldUp(t *testing.T) {
	webhook, refused := apierrors.NewInternalError(errors.New("failed calling webhook")), apierrors.NewForbidden(schema.GroupResource{}, "web", nil)
	lost := errors.New("connection reset by peer")
	type answer struct {
		err  error
		took time.Duration
	}
	for name, test := range map[string]struct {
		answers []answer
		want    bool
	}{
		"none yet":                         {nil, false},
		"it fails at once":                 {[]answer{{webhook, time.Second}}, false},
		"it fails late":                    {[]answer{{webhook, 10 * time.Second}}, true},
		"no answer":                        {[]answer{{&NotSentError{"no answer"}, 13 * time.Second}}, true},
		"the connection is lost":           {[]answer{{lost, 10 * time.Second}}, false},
		"it fails late, and is lost":       {[]answer{{webhook, 10 * time.Second}, {lost, time.Second}}, true},
		"it fails late, and is made":       {[]answer{{webhook, 10 * time.Second}, {nil, 9 * time.Second}}, false},
		"it fails late, and is refused":    {[]answer{{webhook, 10 * time.Second}, {refused, time.Second}}, false},
		"it fails late, and fails at once": {[]answer{{webhook, 10 * time.Second}, {webhook, time.Second}}, false},
		"it fails late, and is too much":   {[]answer{{webhook, 10 * time.Second}, {apierrors.NewTooManyRequests("", 1), time.Second}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var h HeldUp
			begin := func(verb decide.Verb, namespace string) (func(error, time.Duration), error) {
				return h.Begin(verb, namespace, 2)
			}
			for _, a := range test.answers {
				ended, err := begin(decide.Create, "a")
				if err != nil {
					t.Fatal(err)
				}
				ended(a.err, a.took)
			}
			first, _ := begin(decide.Create, "a")
			second, _ := begin(decide.Create, "a")
			_, err := begin(decide.Create, "a")
			if (err != nil) != test.want || test.want && (!retry.IsServerError(err) || retry.Said(err) == "") {
				t.Errorf("the third one: %v", err)
			}
			_, another := begin(decide.Create, "b")
			_, deletion := begin(decide.Delete, "a")
			if another != nil || deletion != nil {
				t.Errorf("another namespace: %v; another verb: %v", another, deletion)
			}
			if !test.want {
				return
			}
			for _, ended := range []func(error, time.Duration){first, second} {
				ended(webhook, 10*time.Second)
			}
			if _, err := begin(decide.Create, "a"); err != nil {
				t.Errorf("once both have ended: %v", err)
			}
		})
	}
}

// TestHeldUpInTurn: a namespace with thousands of writes that are held up takes no trial from others, and all of them
// together leave half of the workers free.
func TestHeldUpInTurn(t *testing.T) {
	const most = 4
	var h HeldUp
	fails := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for i := range 3 * most {
		ended, err := h.Begin(decide.Create, string(rune('a'+i)), most)
		if err != nil {
			t.Fatal(err)
		}
		ended(fails, 10*time.Second)
	}
	sent := 0
	for i := range 3 * most {
		for try := range most {
			if _, err := h.Begin(decide.Create, string(rune('a'+i)), most); err == nil && try > 0 {
				t.Errorf("namespace %c sends %d at a time", 'a'+i, try+1)
			} else if err == nil {
				sent++
			}
		}
	}
	if sent != 2*most {
		t.Errorf("%d are sent at a time, want %d", sent, 2*most)
	}
}

// TestSaid: the provider chooses how long its errors are, and one is kept for each namespace.
func TestSaid(t *testing.T) {
	var h HeldUp
	for range 2 {
		ended, err := h.Begin(decide.Create, "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		ended(apierrors.NewInternalError(errors.New(strings.Repeat("x", 1<<20))), 10*time.Second)
	}
	_, _ = h.Begin(decide.Create, "a", 1)
	if _, err := h.Begin(decide.Create, "a", 1); err == nil || len(err.Error()) > 2*mostSaid {
		t.Errorf("got %v characters", len(fmt.Sprint(err)))
	}
}
