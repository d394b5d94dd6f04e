package quantity

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestBounded(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "1": true, "-1": true, "1500m": true, "100n": true, "1u": true, "1.5Gi": true, "8Ei": true, "1E": true, "9223372036854775807": true,
		"1e3": true, "1E3": true, "1e18": true, "1e-18": true, "+1E+18": true, "1e0018": true, " 1e9 ": true,
		strings.Repeat("9", MaxLength): true,
		// Not quantities, which the parser refuses at once.
		"": true, "e": true, "x": true, "1ee19": false, "1e19x": false, "cpu": true, "1Ei5": true,

		"1e19": false, "1E19": false, "1e-19": false, "1e+19": false, " 1e19 ": false, "1e0019": false,
		"11111111111111111111e10000000": false, "1e9999999": false, "1e-2147483648": false,
		"1e4294967295":                   false, // The parser reads another exponent.
		"1e" + strings.Repeat("9", 30):   false,
		strings.Repeat("1", MaxLength+1): false,
	} {
		if got := Bounded(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// FuzzBounded parses each bounded text. The result must be a number of a few digits.
func FuzzBounded(f *testing.F) {
	for _, text := range []string{"1", "1.5Gi", "1e18", "9e-18", "1E", "8Ei", "-0.0000001e18", strings.Repeat("9", 37) + "e18"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !Bounded(text) {
			return
		}
		parsed, err := resource.ParseQuantity(strings.TrimSpace(text))
		if err != nil {
			return
		}
		const most = 400 // In bits: 58 digits, and nine decimals.
		if bits := parsed.AsDec().UnscaledBig().BitLen(); bits > most {
			t.Errorf("%q has %d bits", text, bits)
		}
		if scale := parsed.AsDec().Scale(); scale < -MaxExponent || scale > MaxLength+MaxExponent {
			t.Errorf("%q has the scale %d", text, scale)
		}
	})
}
