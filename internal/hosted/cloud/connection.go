package cloud

import (
	"context"
	"log/slog"
)

// Connection leads to the API server of a cluster, as whoever the cloud takes us for there.
// It is for one use, within minutes, and is never stored.
type Connection struct {
	// Host is the URL of the API server, and CA the PEM of the authority that vouches for it.
	Host string
	CA   []byte
	// Token is that of the cloud; Cert and Key are what some clusters have in its place.
	Token     string
	Cert, Key []byte
}

// String shows no credential, in no format.
func (c Connection) String() string { return c.Host }

// GoString does the same for %#v.
func (c Connection) GoString() string { return c.Host }

// LogValue does the same for logs.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.Host) }

// Source gives a connection to one cluster, each time with a new token. It makes a request
// or two.
type Source interface {
	Connection(ctx context.Context) (Connection, error)
}
