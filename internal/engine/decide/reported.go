package decide

import (
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/address"
	"github.com/spillway-io/spillway/internal/field"
)

// mostTold is how many refused addresses an event names.
const mostTold = 3

// WithAddresses returns local with those reported addresses and hostnames that may be shown, and why some are
// not. Reporting kinds use it for Services and Ingresses. what says whose addresses they are, for messages.
func WithAddresses[T address.Addressed](local T, clusterID string, reported []string, what string, around Inputs) (T, *field.Problem) {
	if len(reported) == 0 && local.GetAnnotations()[v1alpha1.AnnotationAddressesPrefix+clusterID] == "" {
		return local, nil // That holds for nearly all objects.
	}
	own, err := around.Own()
	if err != nil { // The caches are stopping.
		return local, nil
	}
	shown, refused := address.Checked(reported, own)
	told := address.WithAddresses(local, clusterID, shown, own)
	if len(refused) == 0 {
		return told, nil
	}
	var all []string
	for _, r := range refused[:min(len(refused), mostTold)] {
		all = append(all, r.Address+" ("+r.Why+")")
	}
	problem := field.Problemf(address.ReasonAddressRefused, "addresses of the %s in provider %s that are not shown: %s", what, clusterID, strings.Join(all, "; "))
	return told, &problem
}
