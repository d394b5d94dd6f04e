package bind

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/config"
)

// DefaultProfile is for a provider whose administrator does not trust the consumer.
const DefaultProfile = "confined"

// Profiles returns the names of the profiles of this version, the default first.
func Profiles() []string {
	all := []string{DefaultProfile}
	for _, one := range config.Directories() {
		if name, ok := strings.CutPrefix(one, prefix); ok {
			all = append(all, name)
		}
	}
	return all
}

const prefix = "provider-"

// Manifests returns the objects of a provider with that profile. They are in the directory config/provider,
// or config/provider-PROFILE.
func Manifests(profile string) ([]*unstructured.Unstructured, error) {
	switch {
	case profile == DefaultProfile:
		return config.Objects("provider")
	case slices.Contains(Profiles(), profile):
		return config.Objects(prefix + profile)
	default:
		return nil, fmt.Errorf("--profile %s: this version has the profiles %s", profile, strings.Join(Profiles(), ", "))
	}
}
