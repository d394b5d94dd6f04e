package namespacemap

import (
	"fmt"
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// mostVolumes is how many claims a message names.
const mostVolumes = 5

// VolumesRemain says that a remote namespace is not deleted, because these claims in it have volumes that the
// provider has created. It returns "" if there are none.
func VolumesRemain(claims []string) string {
	if len(claims) == 0 {
		return ""
	}
	named := strings.Join(claims[:min(len(claims), mostVolumes)], ", ")
	if more := len(claims) - mostVolumes; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("the remote namespace is not deleted, because the volumes of these claims would be lost: %s; "+
		"delete the claims, or set the annotation %s=%s on the NamespaceOffloading or, to delete it, on the ClusterBinding", named, v1alpha1.AnnotationLoseVolumes, v1alpha1.LoseVolumes)
}
