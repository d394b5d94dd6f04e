package ingress

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// TestHostsOfThePolicy: the provider's policy allows the hosts that are sent, and no other.
func TestHostsOfThePolicy(t *testing.T) {
	policy := compiledRoutesPolicy(t)
	for _, test := range fieldtest.HostTable {
		if test.Host == "" {
			continue // An Ingress without a host is for every host.
		}
		limits := map[string]string{"ingressClasses": "public", "ingressHosts": test.Patterns}
		host := test.Host
		if host == field.All {
			host = ""
		}
		for where, spec := range map[string]networkingv1.IngressSpec{
			"a rule":        {Rules: []networkingv1.IngressRule{{Host: host}}},
			"a certificate": {TLS: []networkingv1.IngressTLS{{Hosts: []string{host}}}},
		} {
			if host == "" && len(spec.TLS) > 0 {
				spec.TLS[0].Hosts = nil
			}
			remote := remoteIngress(t, "")
			remote.Spec = spec
			remote.Spec.IngressClassName = ptr.To("public")
			got := policy.refusal(t, nil, remote, limits)
			if (got == "") != test.Want || got != "" && !strings.HasPrefix(got, "spec.rules[].host") {
				t.Errorf("%q, %q in %s: %q", test.Patterns, test.Host, where, got)
			}
			if _, refusal := toRemote(remote, field.Target{Mark: provenance.Mark{Account: "eu"}}, &field.Limits{IngressClasses: []string{field.All}, IngressHosts: field.Listed(test.Patterns)}, euClasses, nil); len(spec.Rules) > 0 && (refusal == nil) != test.Want {
				t.Errorf("%q, %q in %s: it is sent: %v", test.Patterns, test.Host, where, refusal)
			}
		}
	}
}
