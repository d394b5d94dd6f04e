package attempts

import (
	"errors"
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
