package ekstable

import "strings"

// sameRole reports whether a role's name and an ARN mean the same role. Users give either; EKS shows the ARN,
// in which a path may precede the name.
func sameRole(spec, upstream any) bool {
	want, _ := spec.(string)
	has, _ := upstream.(string)
	return want != "" && !strings.HasPrefix(want, "arn:") && strings.HasPrefix(has, "arn:") && strings.HasSuffix(has, "/"+want)
}
