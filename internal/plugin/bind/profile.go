package bind

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/config"
)

// DefaultProfile is for a provider whose administrator does not trust the consumer.
const DefaultProfile = "confined"

// Manifests are the objects of a provider with that profile: those of the directory
// config/provider, or config/provider-PROFILE.
func Manifests(profile string) ([]*unstructured.Unstructured, error) {
	directory := "provider"
	if profile != DefaultProfile {
		directory += "-" + profile
	}
	known := []string{DefaultProfile}
	for _, one := range config.Directories() {
		if name, ok := strings.CutPrefix(one, "provider-"); ok {
			known = append(known, name)
		}
		if one == directory {
			return config.Objects(directory)
		}
	}
	return nil, fmt.Errorf("--profile %s: this version has the profiles %s", profile, strings.Join(known, ", "))
}
