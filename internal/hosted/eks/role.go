package eks

import "strings"

// sameRole: a role is given by its name or its ARN, and shown as an ARN, in which a path
// may come before the name.
func sameRole(spec, upstream any) bool {
	want, _ := spec.(string)
	has, _ := upstream.(string)
	return want != "" && !strings.HasPrefix(want, "arn:") && strings.HasPrefix(has, "arn:") && strings.HasSuffix(has, "/"+want)
}
