//go:build !seeded

package seeded

// On is false: this is what is shipped.
func On(Bug) bool { return false }

// Once is false, as On is.
func Once(Bug, any) bool { return false }
