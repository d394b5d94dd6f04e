// Package normal makes values of a spec and of a cloud comparable.
package normal

import (
	"net/netip"
	"reflect"
	"strings"
)

// Version removes the v that some people write before a version.
func Version(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	return strings.TrimPrefix(strings.TrimSpace(text), "v")
}

// Prefix reports whether the cloud's version is the requested one, or a more precise one: 1.33.2-gke.100
// matches 1.33.2 and 1.33, but not 1.3.
func Prefix(spec, upstream any) bool {
	want, _ := spec.(string)
	has, _ := upstream.(string)
	rest, ok := strings.CutPrefix(has, want)
	return ok && want != "" && (rest == "" || rest[0] == '.' || rest[0] == '-')
}

// SameName compares names without regard to case. The cloud gets them as they are in the spec.
func SameName(spec, upstream any) bool {
	want, _ := spec.(string)
	has, _ := upstream.(string)
	return strings.EqualFold(strings.TrimSpace(want), has)
}

// Default reports whether both values are equal, or the spec leaves the value to the cloud: 0, "" and [] mean that.
func Default(spec, upstream any) bool { return spec == nil || reflect.DeepEqual(spec, upstream) }

// Network compares the names of networks, which may also be the paths of networks.
func Network(spec, upstream any) bool {
	want, _ := spec.(string)
	has, _ := upstream.(string)
	return want == "" || last(want) == last(has)
}

func last(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// Range reports whether the cloud has the range in the spec. The spec may leave it to the cloud, or set only its
// size, such as /14.
func Range(spec, upstream any) bool {
	want, _ := spec.(string)
	has, _ := upstream.(string)
	return want == "" || want == has || strings.HasPrefix(want, "/") && strings.HasSuffix(has, want)
}

// Location normalises the regions of Azure, which are also written as West Europe.
func Location(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	return strings.ToLower(strings.ReplaceAll(text, " ", ""))
}

// CIDR clears the host bits, as the clouds do.
func CIDR(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
	if err != nil {
		return value
	}
	return prefix.Masked().String()
}
