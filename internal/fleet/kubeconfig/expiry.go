package kubeconfig

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

const (
	// maxTokenSize bounds what is decoded of a token, in bytes. Tokens of
	// service accounts have about one KiB.
	maxTokenSize = 64 << 10
	// maxExpiry is the end of the year 9999, in Unix seconds: the last that
	// can be written as RFC 3339.
	maxExpiry = 253402300799
)

// TokenExpiry returns when a bearer token expires, in UTC and whole seconds,
// if it is a JWT that says so. It does not verify the token: what it returns
// is good for a message such as "the token expired at …", never for a decision.
func TokenExpiry(token string) (time.Time, bool) {
	if len(token) > maxTokenSize {
		return time.Time{}, false
	}
	parts := strings.SplitN(token, ".", 4)
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Expiry *float64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Expiry == nil {
		return time.Time{}, false
	}
	if *claims.Expiry < 0 || *claims.Expiry > maxExpiry {
		return time.Time{}, false
	}
	return time.Unix(int64(*claims.Expiry), 0).UTC(), true
}

// CertificateExpiry returns when the client certificate in PEM form, such as
// the CertData of a rest.Config, expires, in UTC.
func CertificateExpiry(certPEM []byte) (time.Time, bool) {
	cert, ok := leaf(certPEM)
	if !ok {
		return time.Time{}, false
	}
	return cert.NotAfter.UTC(), true
}
