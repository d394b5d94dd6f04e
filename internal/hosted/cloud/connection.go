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

// SourceOf returns the Source that a client is; nil if its cloud gives no access. Without a
// client, all that it gives is why there is none.
func SourceOf(c Client, why error) Source {
	if c == nil && why != nil {
		return none{why}
	}
	source, _ := c.(Source)
	return source
}

type none struct{ why error }

// Connection implements Source.
func (n none) Connection(context.Context) (Connection, error) { return Connection{}, n.why }
