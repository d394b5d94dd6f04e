package provenance

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// confined is the user name prefix of the ServiceAccounts in the namespace spillway-provider. The
// provider's policies confine these users.
const confined = "system:serviceaccount:spillway-provider:"

// Account returns the name of the manager's ServiceAccount in a provider, for Mark.Account. username is
// the user as which the provider knows the manager. Account is empty for credentials that the policies
// do not confine. It is also empty for a name that is no label value: then the policies say what is
// wrong.
func Account(username string) string {
	name, ok := strings.CutPrefix(username, confined)
	if !ok || len(validation.IsValidLabelValue(name)) > 0 {
		return ""
	}
	return name
}
