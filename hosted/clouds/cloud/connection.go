package cloud

import (
	"context"
	"log/slog"
)

// Connection is access to the API server of a cluster, with the identity that the cloud gives us there. It is
// for one use within minutes, and is never stored.
type Connection struct {
	// Host is the URL of the API server. CA is the PEM of its certificate authority.
	Host string
	CA   []byte
	// Token is the cloud's token. Some clusters use Cert and Key instead.
	Token     string
	Cert, Key []byte
}

// String shows no credential, in no format.
func (c Connection) String() string { return c.Host }

// GoString does the same for %#v.
func (c Connection) GoString() string { return c.Host }

// LogValue does the same for logs.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.Host) }

// Source returns a connection to one cluster, each time with a new token. It sends one or two requests.
type Source interface {
	Connection(ctx context.Context) (Connection, error)
}

// SourceOf returns the client as a Source; nil if its cloud gives no access. If there is no client, the Source
// returns the error why.
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
