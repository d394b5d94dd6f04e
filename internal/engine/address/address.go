// Package address decides, without any I/O, which addresses of a provider's load balancers the consumer shows
// in the status of its own objects.
//
// Readers of such a status, such as a controller that writes DNS records, lead users to the address. A
// provider could report an address of the consumer itself, or a name that means something else in the
// consumer. Spillway checks only for these: a provider's own name may lead anywhere anyway.
//
// Several providers may report addresses of one object, and its status is one list. So each provider has an
// annotation with its addresses, and the list has the addresses of all annotations. Users may write
// annotations, so addresses that are read from them are checked again.
package address

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/field/text"
)

// Most is how many addresses of one object each provider may report. An annotation then has at most 4,063
// bytes.
const Most = 16

// separator separates the addresses in an annotation.
const separator = ","

// Refused is an address that is not shown.
type Refused struct {
	// Address is what the provider reports, on one line and at most 64 characters long.
	Address string
	// Why is the cause, for users.
	Why string
}

var tooMany = fmt.Sprintf("no more than %d addresses of one object are shown", Most)

// Reasons why an address is not shown.
const (
	notAnAddress = "it is neither an IP address nor a DNS name of several labels in lower case"
	notOneHost   = "it leads to another host on each node, or in each program"
	nameHere     = "it is a cluster-internal name, which means something else in this cluster"
	ownAddress   = "this cluster uses that address, or that range, itself"
)

// Checked divides the reported IP addresses and host names into those that may be shown and those that may
// not. shown is in canonical form, sorted and without duplicates. Empty entries are in neither list. own
// reports whether an address belongs to the consumer: see OfNodes. Checked ignores entries after the first
// Most.
func Checked(reported []string, own func(netip.Addr) bool) (shown []string, refused []Refused) {
	read := 0
	for _, said := range reported {
		if said == "" {
			continue
		}
		canonical, why := said, ""
		if read++; read > Most {
			why = tooMany
		} else if ip, err := netip.ParseAddr(said); err == nil {
			canonical, why = ip.String(), refusalOfIP(ip, own)
		} else {
			why = refusalOfName(said)
		}
		if why == "" {
			shown = append(shown, canonical)
			continue
		}
		refused = append(refused, Refused{text.Short(said), why})
		if read > Most {
			break
		}
	}
	slices.Sort(shown)
	return slices.Compact(shown), refused
}

// notHosts are ranges in which no address means the same host everywhere: this network, reserved ranges, and
// IPv6 addresses that some programs take for the IPv4 address in them.
var notHosts = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"),
}

func refusalOfIP(ip netip.Addr, own func(netip.Addr) bool) string {
	switch {
	case !network.IsOfPods(ip), contains(notHosts, ip):
		return notOneHost
	case own(ip):
		return ownAddress
	}
	return ""
}

// inClusters are domains whose names each cluster, or each host, resolves itself.
var inClusters = []string{".svc", ".cluster.local", ".localhost", ".localdomain"}

// refusalOfName says why a name may not be shown. A last label that begins with a digit is not a domain:
// programs read 127.1, 010.0.0.1 and 10.0x1 as IPv4 addresses.
func refusalOfName(name string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case len(last) == len(name), len(validation.IsDNS1123Subdomain(name)) > 0, last[0] <= '9':
		return notAnAddress
	case slices.ContainsFunc(inClusters, func(domain string) bool { return strings.HasSuffix("."+name, domain) }):
		return nameHere
	}
	return ""
}

// OfNodes returns a function that reports whether one of the consumer's own nodes, or a pod on it, has an
// address. Virtual nodes have none.
func OfNodes(nodes []corev1.Node) func(netip.Addr) bool {
	var ranges []netip.Prefix
	for i := range nodes {
		if nodes[i].Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual {
			continue
		}
		for _, cidr := range nodes[i].Spec.PodCIDRs {
			if prefix, err := netip.ParsePrefix(cidr); err == nil {
				ranges = append(ranges, prefix)
			}
		}
		for _, address := range nodes[i].Status.Addresses {
			if ip, err := netip.ParseAddr(address.Address); err == nil {
				ranges = append(ranges, netip.PrefixFrom(ip, ip.BitLen()))
			}
		}
	}
	return func(ip netip.Addr) bool { return contains(ranges, ip) }
}

func contains(ranges []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Annotate returns annotations with the addresses of the provider with that clusterID. If it has none, its
// annotation is missing. The argument does not change.
func Annotate(annotations map[string]string, clusterID string, shown []string) map[string]string {
	merged := maps.Clone(annotations)
	if len(shown) == 0 {
		delete(merged, v1alpha1.AnnotationAddressesPrefix+clusterID)
		return merged
	}
	if merged == nil {
		merged = map[string]string{}
	}
	merged[v1alpha1.AnnotationAddressesPrefix+clusterID] = strings.Join(shown, separator)
	return merged
}

// All returns the addresses of all providers in annotations, by clusterID, without duplicates and without
// addresses that may not be shown.
func All(annotations map[string]string, own func(netip.Addr) bool) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if !strings.HasPrefix(key, v1alpha1.AnnotationAddressesPrefix) {
			continue
		}
		shown, _ := Checked(strings.Split(annotations[key], separator), own)
		for _, address := range shown {
			if !slices.Contains(all, address) {
				all = append(all, address)
			}
		}
	}
	return all
}
