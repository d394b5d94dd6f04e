package kubeconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/client-go/rest"
)

// Fingerprint returns two digests of what Load has taken from a kubeconfig: one of everything, and one without
// the token. Names in a kubeconfig, and its layout, do not change them.
func Fingerprint(config *rest.Config) (whole, withoutToken string) {
	tls := config.TLSClientConfig
	parts := []any{config.Host, tls.ServerName, tls.CAData, tls.CertData, tls.KeyData, config.BearerToken != ""}
	return digest(append(parts, config.BearerToken)), digest(parts)
}

func digest(parts []any) string {
	encoded, err := json.Marshal(parts) // So that no part runs into the next one.
	if err != nil {
		panic(err) // Strings, bytes and booleans always can be encoded.
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}
