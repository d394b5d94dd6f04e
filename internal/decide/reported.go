package decide

import (
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/address"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/translate"
)

// mostTold is how many addresses that are refused an event names.
const mostTold = 3

// WithAddresses is what a Reporting kind reports of a Service or an Ingress: local with those
// of the reported addresses and hostnames that may be shown, and why some are not. what is
// whose addresses they are, for people.
func WithAddresses[T translate.Addressed](local T, clusterID string, reported []string, what string, around Around) (T, *field.Problem) {
	if len(reported) == 0 && local.GetAnnotations()[v1alpha1.AnnotationAddressesPrefix+clusterID] == "" {
		return local, nil // Nearly all objects.
	}
	own, err := around.Own()
	if err != nil { // The caches are ending.
		return local, nil
	}
	shown, refused := address.Checked(reported, own)
	told := translate.WithAddresses(local, clusterID, shown, own)
	if len(refused) == 0 {
		return told, nil
	}
	var all []string
	for _, r := range refused[:min(len(refused), mostTold)] {
		all = append(all, r.Address+" ("+r.Why+")")
	}
	problem := field.Problemf(translate.ReasonAddressRefused, "of the %s in provider %s this is not shown here: %s", what, clusterID, strings.Join(all, "; "))
	return told, &problem
}
