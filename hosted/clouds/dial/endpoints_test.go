package dial

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetEndpoints(t *testing.T) {
	tests := map[string]struct {
		text string
		// want has eks, aks, entra and gke, in this order.
		want [4]string
		err  string
	}{
		"one":           {text: "gke=https://gke.internal", want: [4]string{3: "https://gke.internal"}},
		"all":           {text: "eks=https://e,aks=https://a:1,entra=https://t,gke=https://g", want: [4]string{"https://e", "https://a:1", "https://t", "https://g"}},
		"another cloud": {text: "oke=https://o", err: `"oke" is none of`},
		"not encrypted": {text: "eks=http://e", err: `eks: "http://e" is not a URL that begins with https://`},
		"no address":    {text: "aks", err: "aks: "},
		"nothing":       {text: "", err: "is none of"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := &Dialer{}
			err := d.SetEndpoints(test.text)
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) || test.err == "" && err != nil {
				t.Fatalf("got %v, want %q", err, test.err)
			}
			if got := [4]string{d.EKS, d.AKS, d.Entra, d.GKE}; test.err == "" && got != test.want {
				t.Error(cmp.Diff(test.want, got))
			}
		})
	}
}
