package kubeconfig

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// maxTokenSize is the largest token to decode, in bytes. Tokens of service accounts have about one KiB.
	maxTokenSize = 64 << 10
	// maxExpiry is the end of the year 9999, in Unix seconds: the last time that RFC 3339
	// can express.
	maxExpiry = 253402300799
)

// TokenExpiry returns when a bearer token expires, in UTC and whole seconds, if it is a
// JWT with that claim. It does not verify the token: use the result in messages such as
// "the token expired at …", never in decisions.
func TokenExpiry(token string) (time.Time, bool) {
	_, until, ok := tokenValidity(token)
	return until, ok
}

// tokenValidity also returns the start of a token's validity. It is zero if unstated.
func tokenValidity(token string) (from, until time.Time, ok bool) {
	if len(token) > maxTokenSize {
		return from, until, false
	}
	parts := strings.SplitN(token, ".", 4)
	if len(parts) != 3 {
		return from, until, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return from, until, false
	}
	var claims struct {
		Issued *float64 `json:"iat"`
		Expiry *float64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return from, until, false
	}
	if until, ok = unix(claims.Expiry); !ok {
		return from, until, false
	}
	from, _ = unix(claims.Issued)
	return from, until, true
}

// unix reads the time of a claim, if RFC 3339 can express it.
func unix(seconds *float64) (time.Time, bool) {
	if seconds == nil || *seconds < 0 || *seconds > maxExpiry {
		return time.Time{}, false
	}
	return time.Unix(int64(*seconds), 0).UTC(), true
}

// CertificateExpiry returns when a client certificate in PEM form, such as the CertData
// of a rest.Config, expires, in UTC.
func CertificateExpiry(certPEM []byte) (time.Time, bool) {
	cert, ok := leaf(certPEM)
	if !ok {
		return time.Time{}, false
	}
	return cert.NotAfter.UTC(), true
}

// Validity returns when the credentials in config can be used, and the name of the one that expires first.
// Times are zero if unstated.
func Validity(config *rest.Config) (what string, from, until time.Time) {
	if since, expiry, ok := tokenValidity(config.BearerToken); ok {
		what, from, until = "the token", since, expiry
	}
	if cert, ok := leaf(config.CertData); ok && (until.IsZero() || cert.NotAfter.Before(until)) {
		what, from, until = "the client certificate", cert.NotBefore.UTC(), cert.NotAfter.UTC()
	}
	return what, from, until
}
