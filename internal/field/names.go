package field

import (
	"crypto/md5" //nolint:gosec // A short name for people, fixed by the API; nothing relies on it being hard to forge.
	"encoding/hex"
	"strings"
)

// RootCertificate is the ConfigMap with the API server's certificate. Kubernetes creates it in every
// namespace.
const RootCertificate = "kube-root-ca.crt"

// Hashed returns the bounded form of a name: its beginning and a hash of namespace/name, at most 63
// characters. Different names, or the same name in different namespaces, have different hashed names.
func Hashed(namespace, name string) string {
	sum := md5.Sum([]byte(namespace + "/" + name)) //nolint:gosec // See the import.
	return Beginning(name) + "-" + hex.EncodeToString(sum[:])
}

// Beginning returns the part of a name that its hashed name keeps.
func Beginning(name string) string {
	return strings.TrimRight(name[:min(len(name), hashedPrefix)], "-._")
}

// hashedPrefix is how many characters of a name precede its hash.
const hashedPrefix = 30
