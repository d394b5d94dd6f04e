package provenance

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// confined is the prefix of the users whom the provider's policies confine: the
// ServiceAccounts of the namespace spillway-provider.
const confined = "system:serviceaccount:spillway-provider:"

// Account returns the name of the ServiceAccount by which a provider knows us, for
// Mark.Account. It is empty for credentials that the policies do not confine, and for a
// name that no label can have: the policies then say what is wrong.
func Account(username string) string {
	name, ok := strings.CutPrefix(username, confined)
	if !ok || len(validation.IsValidLabelValue(name)) > 0 {
		return ""
	}
	return name
}
