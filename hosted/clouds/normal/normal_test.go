package normal

import "testing"

func TestNormal(t *testing.T) {
	tests := map[string]struct {
		normalize   func(any) any
		value, want any
	}{
		"a version":                   {Version, "1.33", "1.33"},
		"a version with a v":          {Version, "v1.33", "1.33"},
		"a version that is a number":  {Version, 1.33, 1.33},
		"a region":                    {Location, "West Europe", "westeurope"},
		"a region that is none":       {Location, nil, nil},
		"a network with host bits":    {CIDR, "10.1.2.3/8", "10.0.0.0/8"},
		"a network of IPv6":           {CIDR, "FD00::1/64", "fd00::/64"},
		"a network that is none":      {CIDR, "everywhere", "everywhere"},
		"an address without a length": {CIDR, "10.1.2.3", "10.1.2.3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.normalize(test.value); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestPrefix(t *testing.T) {
	tests := map[string]struct {
		spec, upstream any
		want           bool
	}{
		"the same":       {"1.33.2", "1.33.2", true},
		"any patch":      {"1.33", "1.33.2", true},
		"any build":      {"1.33.2", "1.33.2-gke.100", true},
		"another minor":  {"1.3", "1.33.2", false},
		"a newer one":    {"1.34", "1.33.2", false},
		"more than is":   {"1.33.2", "1.33", false},
		"nothing wanted": {nil, "1.33", false},
		"nothing there":  {"1.33", nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Prefix(test.spec, test.upstream); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
