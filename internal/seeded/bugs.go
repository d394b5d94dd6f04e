package seeded

// Bug is the name of a seeded bug.
type Bug string

// Description says what a bug is, and where to look for it.
type Description struct {
	Bug Bug
	// Breaks says in a sentence what the bug does.
	Breaks string
	// Parts of the harness that should catch it, by the names of PART.
	Parts []string
	// Scenarios in which they should.
	Scenarios []string
}

// All bugs, in a fixed order.
func All() []Description { return nil }
