package connection

import "time"

// Apart is how far the clock of a server is ahead of ours, at least; negative: behind. Its answer
// has that date, cut to a second, and was written at some time between asked and answered.
func Apart(date, asked, answered time.Time) time.Duration {
	const cut = time.Second
	switch latest := date.Add(cut); {
	case date.IsZero(): // It does not say.
		return 0
	case date.After(answered):
		return date.Sub(answered)
	case latest.Before(asked):
		return latest.Sub(asked)
	}
	return 0
}

// Skew says, coarsely, how the clock of a provider differs from ours.
type Skew int

const (
	// InStep: by too little to count, as far as anybody knows.
	InStep Skew = iota
	// Ahead: by more than MostApart.
	Ahead
	// Behind: by more than MostApart.
	Behind
	// Doubtful: by a little less. What was said before still holds, so that it does not change to
	// and fro.
	Doubtful
)

const (
	// MostApart is how far clocks may be apart.
	MostApart = 5 * time.Second
	// leastApart is the distance from which on they are in step again.
	leastApart = 3 * time.Second
)

// Skew of the provider's clock.
func (s State) Skew() Skew {
	switch ahead := s.Ahead; {
	case ahead > MostApart:
		return Ahead
	case ahead < -MostApart:
		return Behind
	case ahead.Abs() > leastApart:
		return Doubtful
	}
	return InStep
}
