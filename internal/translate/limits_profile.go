package translate

import (
	"slices"
	"strings"
)

// The profiles that are shipped: config/provider and config/provider-trusted.
const (
	profileConfined = "confined"
	profileTrusted  = "trusted"
)

// opened are the keys by which the profile trusted differs from the profile confined.
var opened = []string{limitMetadataKeys, limitTolerationKeys, limitVolumeTypes, limitPriorityClasses, limitPodSecurity}

// profileOf says which of the profiles limits are of, by what they open: an administrator
// may have changed them, so a name that stands in them would not tell. Limits between the
// two are confined, and the keys that are open are named.
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

// OpensMore names the keys that limits open and the wanted ones do not. Limits with a mistake
// open nothing: the provider refuses everything by them.
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
		if key == limitPodSecurity && strings.TrimSpace(data[key]) == string(PodSecurityPrivileged) || slices.Contains(listed(data[key]), All) {
			open = append(open, key)
		}
	}
	return open
}
