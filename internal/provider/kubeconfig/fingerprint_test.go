package kubeconfig

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestFingerprint(t *testing.T) {
	config := func(change func(*rest.Config)) *rest.Config {
		c := &rest.Config{Host: "https://eu", BearerToken: "token", TLSClientConfig: rest.TLSClientConfig{
			ServerName: "eu", CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key")}}
		change(c)
		return c
	}
	whole, withoutToken := Fingerprint(config(func(*rest.Config) {}))
	tests := map[string]struct {
		config           *rest.Config
		same, sameButFor bool
	}{
		"the same":           {config(func(*rest.Config) {}), true, true},
		"another token":      {config(func(c *rest.Config) { c.BearerToken = "another" }), false, true},
		"no token":           {config(func(c *rest.Config) { c.BearerToken = "" }), false, false},
		"another host":       {config(func(c *rest.Config) { c.Host = "https://us" }), false, false},
		"another name":       {config(func(c *rest.Config) { c.ServerName = "us" }), false, false},
		"another authority":  {config(func(c *rest.Config) { c.CAData = []byte("other") }), false, false},
		"another cert":       {config(func(c *rest.Config) { c.CertData = []byte("other") }), false, false},
		"another key":        {config(func(c *rest.Config) { c.KeyData = []byte("other") }), false, false},
		"moved between them": {config(func(c *rest.Config) { c.CertData, c.KeyData = []byte("certk"), []byte("ey") }), false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gotWhole, gotWithout := Fingerprint(test.config)
			if same := gotWhole == whole; same != test.same {
				t.Errorf("the whole is the same: %v", same)
			}
			if same := gotWithout == withoutToken; same != test.sameButFor {
				t.Errorf("all but the token is the same: %v", same)
			}
		})
	}
}
