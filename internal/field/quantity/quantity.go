// Package quantity limits what a quantity of Kubernetes may look like.
//
// Its parser accepts any exponent, and computes the power of ten: thirty characters may cost seconds of CPU,
// and a few more characters hours. Comparing or adding two quantities computes the same power again. So
// Spillway does not decode a quantity with a larger exponent from a provider, and does not send one to a
// provider.
package quantity

import "strings"

const (
	// MaxLength is how many characters a quantity may have. An int64 has 19 digits.
	MaxLength = 40
	// MaxExponent is the largest exponent, with either sign. The largest suffix, E, has this exponent.
	MaxExponent = 18
)

// Bounded reports whether a quantity costs next to nothing to parse and to compare. A text that is no
// quantity is bounded, too: the parser refuses it at once.
func Bounded(text string) bool {
	if len(text) > MaxLength {
		return false
	}
	// The suffix E, for 10¹⁸, has nothing after it, and Ei no digit.
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
