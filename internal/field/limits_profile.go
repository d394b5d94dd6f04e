package field

import (
	"slices"
	"strings"
)

// The profiles that Spillway ships, in config/provider and config/provider-trusted.
const (
	profileConfined = "confined"
	profileTrusted  = "trusted"
)

// opened are the keys in which the profiles trusted and confined differ.
var opened = []string{LimitMetadataKeys, LimitTolerationKeys, LimitVolumeTypes, limitPriorityClasses, limitPodSecurity}

// profileOf describes the profile of limits by the keys that they open. A name in the limits would not
// be reliable, because an administrator may change them. Limits between the two profiles are called
// confined, with the names of the open keys.
func profileOf(data map[string]string) string {
	open := opens(data)
	switch len(open) {
	case 0:
		return profileConfined
	case len(opened):
		return profileTrusted
	}
	return profileConfined + ", with all of " + strings.Join(open, ", ")
}

// OpensMore returns the keys that the limits there open, but the wanted limits do not. Limits with a
// mistake open nothing, because the provider then refuses everything.
func OpensMore(there, wanted map[string]string) []string {
	if limitsProblem(there) != "" {
		return nil
	}
	kept := opens(wanted)
	return slices.DeleteFunc(opens(there), func(key string) bool { return slices.Contains(kept, key) })
}

func opens(data map[string]string) []string {
	var open []string
	for _, key := range opened {
		if key == limitPodSecurity && strings.TrimSpace(data[key]) == string(PodSecurityPrivileged) || slices.Contains(Listed(data[key]), All) {
			open = append(open, key)
		}
	}
	return open
}
