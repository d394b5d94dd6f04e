package connection

import "time"

// ClockSkew returns how far a server's clock is ahead of the manager's, at least. Negative means behind. The
// server's answer has that date, cut to a second. The server wrote the answer between asked and answered.
func ClockSkew(date, asked, answered time.Time) time.Duration {
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

// Skew says roughly how the clock of a provider differs from the manager's.
type Skew int

const (
	// InStep means that the difference is too small to count, or unknown.
	InStep Skew = iota
	// Ahead means ahead by more than MaxClockSkew.
	Ahead
	// Behind means behind by more than MaxClockSkew.
	Behind
	// Doubtful means that the difference is a little less than MaxClockSkew. The result before it still holds,
	// so that it does not flip back and forth.
	Doubtful
)

const (
	// MaxClockSkew is how far clocks may be apart.
	MaxClockSkew = 5 * time.Second
	// minClockSkew is the difference below which clocks are in step again.
	minClockSkew = 3 * time.Second
)

// Skew returns the Skew of the provider's clock.
func (s State) Skew() Skew {
	switch ahead := s.ClockSkew; {
	case ahead > MaxClockSkew:
		return Ahead
	case ahead < -MaxClockSkew:
		return Behind
	case ahead.Abs() > minClockSkew:
		return Doubtful
	}
	return InStep
}
