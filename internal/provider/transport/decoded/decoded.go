// Package decoded measures, while an answer is being read, how much memory it takes once decoded.
//
// The encoded size says little: an empty container takes two bytes in Protobuf, and some
// 800 in memory. Counting what was decoded comes too late: a few megabytes of empty
// containers have taken gigabytes by then.
//
// A Meter follows the bytes as they come, and keeps none of them. For Protobuf, it knows the kinds by their Go
// types, and so the size of each field. For JSON, it follows brackets and commas, and counts each element of a
// list as the largest possible one.
//
// Even a short quantity can take seconds and megabytes to decode. In Protobuf, a Meter finds quantities by the
// Go types, and refuses those that package quantity does not allow. In JSON, it refuses kinds with a Go type:
// the only such kind that API servers send in JSON is Status.
package decoded

import (
	"fmt"

	"github.com/spillway-io/spillway/internal/field/quantity"
)

// QuantityError is about a quantity that costs too much to decode.
type QuantityError struct {
	// Field is the name of the quantity's field, such as allocatable. It comes from the Go types, so the
	// provider cannot choose it.
	Field string
}

func (e *QuantityError) Error() string {
	return fmt.Sprintf("has a quantity in %s of more than %d characters, or with an exponent beyond %d", e.Field, quantity.MaxLength, quantity.MaxExponent)
}

// Meter measures one message: an object or a list of them, or an event of a watch.
type Meter interface {
	// Read measures the next bytes, and returns how much memory they take once decoded. It returns an error if
	// the bytes cannot be decoded, or a *QuantityError if they must not be.
	Read(p []byte) (int64, error)
}
