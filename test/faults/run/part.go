package run

import (
	"fmt"
	"slices"
)

// Part is a part of the full set.
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

// Parts are all that can be asked for. The reference runs are always there.
func Parts() []Part {
	return []Part{Crash, Errors, Cuts, Watches, OutOfBand, Identity, Pairs, Seeded}
}

// ParsePart reads the name of one.
func ParsePart(name string) (Part, error) {
	if part := Part(name); slices.Contains(Parts(), part) {
		return part, nil
	}
	return "", fmt.Errorf("there is no part %q; there are %v", name, Parts())
}
