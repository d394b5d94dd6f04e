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
	var open []string
	for _, key := range opened {
		if key == limitPodSecurity && strings.TrimSpace(data[key]) == string(PodSecurityPrivileged) || slices.Contains(listed(data[key]), All) {
			open = append(open, key)
		}
	}
	switch len(open) {
	case 0:
		return profileConfined
	case len(opened):
		return profileTrusted
	}
	return profileConfined + ", with all of " + strings.Join(open, ", ")
}
