package provenance

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// confined is how the users begin whom the provider's policies hold: the
// ServiceAccounts of the namespace spillway-provider.
const confined = "system:serviceaccount:spillway-provider:"

// Account is the name of the ServiceAccount that a provider knows us by, for
// Mark.Account. It is empty for credentials that the policies do not hold, and
// for a name that no label can have: the policies then say what is wrong.
func Account(username string) string {
	name, ok := strings.CutPrefix(username, confined)
	if !ok || len(validation.IsValidLabelValue(name)) > 0 {
		return ""
	}
	return name
}
