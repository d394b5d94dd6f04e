// Package decoded tells how much memory an answer takes once it is decoded, while
// it is being read.
//
// How much was sent says little: an empty container is two bytes of Protobuf, and
// some 800 in memory. Whoever counts what was decoded comes too late: a few
// megabytes that are nothing but empty containers have taken gigabytes by then.
//
// A Meter follows the bytes as they come, and keeps none of them. Of Protobuf it
// knows the kinds by their Go types, and so what each field takes. Of JSON it looks
// at brackets and commas, and takes each element of a list for as large as the
// largest there is: no API server answers so for the kinds that are read here in
// numbers.
//
// A quantity can take seconds and megabytes, however short it is. In both a Meter
// finds them by the Go types, and refuses what package quantity does not allow.
package decoded

import (
	"fmt"

	"github.com/spillway-io/spillway/internal/quantity"
)

// QuantityError is about a quantity that costs too much to decode.
type QuantityError struct {
	// Field is the name of the field that it is in, such as allocatable: one of the
	// Go types', and not of the provider's choice.
	Field string
}

func (e *QuantityError) Error() string {
	return fmt.Sprintf("has a quantity in %s of more than %d characters, or with an exponent beyond %d", e.Field, quantity.MaxLength, quantity.MaxExponent)
}

// Meter measures one message: an object or a list of them, or an event of a watch.
type Meter interface {
	// Read looks at the next bytes, and returns how much memory they take once
	// they are decoded. The error is about bytes that cannot be decoded, or, if
	// it is a *QuantityError, must not be.
	Read(p []byte) (int64, error)
}
