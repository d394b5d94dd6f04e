package field

import (
	"slices"
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// ReasonHostNotAllowed: the ClusterBinding or the provider does not list a host of the Ingress or
// route.
const ReasonHostNotAllowed = "HostNotAllowed"

// HostPatterns are hosts that Ingresses and routes may have, or "*" for every host. The provider's
// policy reads them in the same way.
type HostPatterns []v1alpha1.HostPattern

// HostsFor returns the patterns in a provider's list that apply to an account. If an item begins with
// the name of an account and "=", it is for that account only.
func HostsFor(list []string, account string) HostPatterns {
	var patterns HostPatterns
	for _, item := range list {
		whose, pattern, named := strings.Cut(item, "=")
		switch {
		case !named:
			patterns = append(patterns, v1alpha1.HostPattern(item))
		case whose == account:
			patterns = append(patterns, v1alpha1.HostPattern(pattern))
		}
	}
	return patterns
}

// Allow reports whether the patterns allow a host. "*" stands for every host.
func (p HostPatterns) Allow(host string) bool {
	return slices.ContainsFunc(p, func(pattern v1alpha1.HostPattern) bool {
		domain, below := strings.CutPrefix(string(pattern), "*.")
		return pattern == All || string(pattern) == host || below && strings.HasSuffix(host, "."+domain)
	})
}

// RoutedHost is a host of a route, or All for every host, and the field that names it.
type RoutedHost struct{ Field, Host string }

// String names the field and the host.
func (h RoutedHost) String() string {
	if h.Host == All {
		return h.Field + " matches every host"
	}
	return h.Field + " is " + h.Host
}

// HostRefusal returns a problem for the first host that a route may not have. A binding without
// patterns allows all hosts that the provider allows.
func HostRefusal(hosts []RoutedHost, binding, provider HostPatterns) *Problem {
	for _, of := range hosts {
		switch {
		case len(binding) > 0 && !binding.Allow(of.Host):
			return Refuse(ReasonHostNotAllowed, "%s: the ClusterBinding does not list it (spec.hosts)", of)
		case !provider.Allow(of.Host):
			return Refuse(ReasonHostNotAllowed, "%s: the provider does not list it (%s in ConfigMap spillway-provider/limits)", of, limitIngressHosts)
		}
	}
	return nil
}
