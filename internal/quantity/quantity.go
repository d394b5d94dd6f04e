// Package quantity bounds what a quantity of Kubernetes may look like.
//
// Its parser takes any exponent, and computes the power of ten: thirty characters
// are worth seconds of CPU, and a few more hours. Where two quantities are compared
// or added, the same power is computed again. So what is written with a larger
// exponent is not decoded, if a provider sends it, and not sent to one.
package quantity

import "strings"

const (
	// MaxLength is how many characters a quantity may have. An int64 has 19 digits.
	MaxLength = 40
	// MaxExponent is the largest of its exponent, with either sign: that of the
	// largest suffix, E.
	MaxExponent = 18
)

// Bounded reports whether a quantity costs next to nothing to parse and to compare.
// What is no quantity at all is bounded, too: its parser refuses that at once.
func Bounded(text string) bool {
	if len(text) > MaxLength {
		return false
	}
	// The suffix E, for 10¹⁸, has nothing behind it, and Ei no digit.
	at := strings.LastIndexAny(text, "eE")
	if at < 0 {
		return true
	}
	exponent := strings.TrimSpace(text[at+1:])
	if len(exponent) > 0 && (exponent[0] == '-' || exponent[0] == '+') {
		exponent = exponent[1:]
	}
	number := 0
	for _, digit := range exponent {
		if digit < '0' || digit > '9' {
			return true
		}
		if number = number*10 + int(digit-'0'); number > MaxExponent {
			return false
		}
	}
	return true
}
