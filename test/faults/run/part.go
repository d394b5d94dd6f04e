package run

import (
	"fmt"
	"slices"

	"github.com/spillway-io/spillway/test/faults/recipe"
)

// Part is a part of all runs.
type Part string

// The parts, in the order in which they are run.
const (
	Reference Part = "reference"
	Crash     Part = "crash"
	Errors    Part = "errors"
	Cuts      Part = "cuts"
	Watches   Part = "watches"
	OutOfBand Part = "outofband"
	Identity  Part = "identity"
	Pairs     Part = "pairs"
	Seeded    Part = "seeded"
)

// Parts returns all parts that can be requested. The reference runs are always played.
func Parts() []Part {
	return []Part{Crash, Errors, Cuts, Watches, OutOfBand, Identity, Pairs, Seeded}
}

// PartOf returns the part that a recipe belongs to.
func PartOf(r recipe.Recipe) Part {
	switch {
	case len(r) > 1:
		return Pairs
	case len(r) == 0:
		return Reference
	case r[0].Kind.IsCrash():
		return Crash
	case r[0].Kind.IsCut():
		return Cuts
	case r[0].Kind.IsWatch():
		return Watches
	default:
		return Errors
	}
}

// ParsePart parses the name of a part.
func ParsePart(name string) (Part, error) {
	if part := Part(name); slices.Contains(Parts(), part) {
		return part, nil
	}
	return "", fmt.Errorf("there is no part %q; there are %v", name, Parts())
}
