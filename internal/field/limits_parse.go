package field

import (
	"maps"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

// The keys of the ConfigMap. Only the provider's policies use priorityClasses, namespaceLabels,
// namePattern and reservedNames, but mistakes in them are reported here. The others apply to what is
// sent.
const (
	limitPodSecurity         = "podSecurity"
	LimitVolumeTypes         = "volumeTypes"
	LimitTolerationKeys      = "tolerationKeys"
	LimitMetadataKeys        = "metadataKeys"
	LimitReservedKeys        = "reservedKeys"
	limitPriorityClasses     = "priorityClasses"
	limitNamespaceLabels     = "namespaceLabels"
	limitNamePattern         = "namePattern"
	limitReservedNames       = "reservedNames"
	LimitEndpointCIDRs       = "endpointCIDRs"
	LimitLoadBalancerClasses = "loadBalancerClasses"
	LimitIngressClasses      = "ingressClasses"
	limitIngressHosts        = "ingressHosts"
	LimitGateways            = "gateways"
	LimitStorageClasses      = "storageClasses"
	LimitVolumeAttributes    = "volumeAttributesClasses"
	LimitCSISecretNamespaces = "csiSecretNamespaces"
	LimitServiceAccounts     = "serviceAccounts"
)

// limitSize limits the characters in the value of a key, because the value is searched for each pod.
const limitSize = 4096

var (
	// unfolded removes the characters that YAML adds to a pattern on several lines.
	unfolded  = strings.NewReplacer(" ", "", "\n", "")
	limitKeys = []string{
		limitPodSecurity, LimitVolumeTypes, LimitTolerationKeys, LimitMetadataKeys, LimitReservedKeys, limitPriorityClasses, limitNamespaceLabels, limitNamePattern, limitReservedNames, LimitEndpointCIDRs,
		LimitLoadBalancerClasses, LimitIngressClasses, limitIngressHosts, LimitGateways,
		LimitStorageClasses, LimitVolumeAttributes, LimitCSISecretNamespaces, LimitServiceAccounts,
	}
	// namespaceName is the name of a namespace. accountPattern is a ServiceAccount: a namespace, in which
	// each * stands for any characters, and a name. The provider's policies have the same patterns.
	namespaceName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	accountPattern = regexp.MustCompile(`^[-a-z0-9*]+/[a-z0-9]([-.a-z0-9]*[a-z0-9])?(\+token)?$`)
	// Describable are the types of volumes that limits can allow.
	Describable = []string{"nfs", "iscsi", "fc", "csi"}
)

// All is an item in a list of limits. It stands for everything that the list could name.
const All = "*"

// Standard is a pod security standard that limits can grant. Empty means baseline.
type Standard string

// The standards: no more than pod security baseline, or anything.
const (
	PodSecurityBaseline   Standard = ""
	PodSecurityPrivileged Standard = "privileged"
)

// Standard returns the standard. Without limits, it is baseline.
func (l *Limits) Standard() Standard {
	if l == nil {
		return PodSecurityBaseline
	}
	return l.PodSecurity
}

// Enforced returns the value of the label pod-security.kubernetes.io/enforce for new remote namespaces.
func (l *Limits) Enforced() string {
	if l.Standard() == PodSecurityPrivileged {
		return string(PodSecurityPrivileged)
	}
	return "baseline"
}

// ListsOrAll reports whether a list has the item, or All.
func ListsOrAll(list []string, item string) bool {
	return slices.Contains(list, item) || slices.Contains(list, All)
}

// NoLimits returns the limits of a provider that does not say what it allows. They have the reason why.
func NoLimits(reason, message string) *Limits {
	return &Limits{Unknown: &Problem{Reason: reason, Message: message}}
}

// MissingLimits returns the limits of a provider without the ConfigMap.
func MissingLimits() *Limits {
	return NoLimits(v1alpha1.ReasonLimitsMissing, "the provider has no ConfigMap spillway-provider/limits, and its policies refuse everything without it: "+
		"its administrator must apply this version's provider.yaml")
}

// LimitsOf reads the data of the ConfigMap as the policies do. If the policies would refuse everything,
// the limits are unknown, and the message names the key to correct.
func LimitsOf(data map[string]string) *Limits {
	if problem := limitsProblem(data); problem != "" {
		return NoLimits(v1alpha1.ReasonLimitsInvalid, "the provider refuses all new pods and namespaces, because its ConfigMap spillway-provider/limits "+problem)
	}
	limits := &Limits{
		VolumeTypes: Listed(data[LimitVolumeTypes]), TolerationKeys: Listed(data[LimitTolerationKeys]),
		MetadataKeys: Listed(data[LimitMetadataKeys]), ReservedKeys: Listed(data[LimitReservedKeys]),
		LoadBalancerClasses: Listed(data[LimitLoadBalancerClasses]), IngressClasses: Listed(data[LimitIngressClasses]), IngressHosts: Listed(data[limitIngressHosts]),
		Gateways: Listed(data[LimitGateways]), StorageClasses: Listed(data[LimitStorageClasses]), VolumeAttributesClasses: Listed(data[LimitVolumeAttributes]),
		CSISecretNamespaces: Listed(data[LimitCSISecretNamespaces]), ServiceAccounts: Listed(data[LimitServiceAccounts]),
	}
	if slices.Contains(limits.VolumeTypes, All) {
		limits.VolumeTypes = Describable
	}
	if strings.TrimSpace(data[limitPodSecurity]) == string(PodSecurityPrivileged) {
		limits.PodSecurity = PodSecurityPrivileged
	}
	limits.Profile = profileOf(data)
	for _, cidr := range Listed(data[LimitEndpointCIDRs]) {
		limits.EndpointCIDRs = append(limits.EndpointCIDRs, netip.MustParsePrefix(cidr)) // limitsProblem has checked it.
	}
	return limits
}

// limitsProblem returns the first mistake, or "". It quotes only text of bounded length: Kubernetes
// limits keys, and limitSize limits values.
func limitsProblem(data map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !slices.Contains(limitKeys, key) {
			return "has the unknown key " + quoted(key) + "; the keys are " + strings.Join(limitKeys, ", ")
		}
		if utf8.RuneCountInString(data[key]) > limitSize {
			return "has more than 4096 characters in " + key
		}
	}
	if s := strings.TrimSpace(data[limitPodSecurity]); !slices.Contains([]string{"", "baseline", "privileged"}, s) {
		return "has " + quoted(s) + " as " + limitPodSecurity + ", which must be baseline or privileged"
	}
	if problem := listProblem(data); problem != "" {
		return problem
	}
	for _, key := range []string{limitNamePattern, limitReservedNames} { // Not compiled: that could take any amount of memory.
		pattern := unfolded.Replace(data[key])
		if _, err := syntax.Parse("^(?:"+pattern+")$", syntax.Perl); err != nil {
			if _, alone := syntax.Parse(pattern, syntax.Perl); alone != nil {
				err = alone // This error quotes what the administrator wrote.
			}
			return "has an invalid regular expression in " + key + ": " + quoted(err.Error())
		}
	}
	return ""
}

// listProblem describes the first invalid item of a list, or returns "".
func listProblem(data map[string]string) string {
	for _, kind := range Listed(data[LimitVolumeTypes]) {
		if kind != All && !slices.Contains(Describable, kind) {
			return "lists " + quoted(kind) + " under " + LimitVolumeTypes + ", which may list only nfs, iscsi, fc and csi, or *"
		}
	}
	for _, key := range Listed(data[LimitMetadataKeys]) {
		if key != All && !strings.Contains(key, "/") { // Keys without a domain need no entry, so a domain was meant.
			return "lists " + quoted(key) + " under " + LimitMetadataKeys + ", which may list only keys with a domain, domains that end in /, or *"
		}
	}
	for _, cidr := range Listed(data[LimitEndpointCIDRs]) {
		if prefix, err := netip.ParsePrefix(cidr); err != nil || prefix.Addr().Is4In6() {
			return "lists " + quoted(cidr) + " under " + LimitEndpointCIDRs + ", which may list only ranges such as 10.0.0.0/16 and fd00:1::/48"
		}
	}
	for _, namespace := range Listed(data[LimitCSISecretNamespaces]) {
		if !namespaceName.MatchString(namespace) {
			return "lists " + quoted(namespace) + " under " + LimitCSISecretNamespaces + ", which may list only names of namespaces"
		}
	}
	for _, account := range Listed(data[LimitServiceAccounts]) {
		if !accountPattern.MatchString(account) {
			return "lists " + quoted(account) + " under " + LimitServiceAccounts + ", which may list only NAMESPACE/NAME, such as team-a-*/s3-reader, or NAMESPACE/NAME+token"
		}
	}
	return ""
}

// quoted cleans and shortens the provider's text for a message.
func quoted(said string) string {
	const most = 128
	return text.Bound(said, most)
}

// Listed splits a list as the policies do.
func Listed(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
