// Package fields checks that somebody has decided, for each field of a type, whether Spillway sends a
// change of it to the provider.
package fields

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Changes are the changes of a T that the owner of an object may make after Spillway has sent the
// object.
type Changes[T any] struct {
	// Follow has the changes that are sent, by the name of the field.
	Follow map[string]func(*T)
	// Stay says why changes of the other fields are not sent.
	Stay map[string]string
}

// Check fails for each field of T without a decision, and for each change that is not sent. sent
// returns the object in the provider after a change (got). It also returns the object that the provider
// would have if the local object had been created with that change (want).
func (c Changes[T]) Check(t *testing.T, sent func(t *testing.T, change func(*T)) (got, want any)) {
	t.Helper()
	for field := range reflect.TypeFor[T]().Fields() {
		if change, follows := c.Follow[field.Name]; follows {
			t.Run(field.Name, func(t *testing.T) {
				got, want := sent(t, change)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		} else if c.Stay[field.Name] == "" {
			t.Errorf("nobody has decided whether a change of %s is sent", field.Name)
		}
	}
}
