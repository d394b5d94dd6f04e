// Package fields checks that somebody has decided, of each field of a type, whether a
// change of it follows the object to the provider.
package fields

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Changes are those of a T that the owner of an object may make after it was sent.
type Changes[T any] struct {
	// Follow are changes of fields that are sent, by the names of the fields.
	Follow map[string]func(*T)
	// Stay says why changes of the other fields are not sent.
	Stay map[string]string
}

// Check fails for each field of T without a decision, and for each change that does not
// follow: sent returns what there is in the provider after the change, and what there
// would be if the object had been created with it.
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
