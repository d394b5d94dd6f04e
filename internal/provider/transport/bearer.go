package transport

import (
	"sync/atomic"

	"golang.org/x/oauth2"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// Bearer is a token that can be replaced while clients use it. Each request carries the token at its start. A
// watch or a stream outlives its token: API servers check it only once.
type Bearer struct{ token atomic.Pointer[string] }

// NewBearer returns the bearer of a token, or nil if there is none.
func NewBearer(token string) *Bearer {
	if token == "" {
		return nil
	}
	b := &Bearer{}
	b.Set(token)
	return b
}

// Set replaces the token for all later requests. The new one must be of the same account: what was read with
// the old one is kept.
func (b *Bearer) Set(token string) { b.token.Store(&token) }

// Token implements oauth2.TokenSource.
func (b *Bearer) Token() (*oauth2.Token, error) {
	return &oauth2.Token{AccessToken: *b.token.Load()}, nil
}

// carriedBy returns cfg with this token instead of its own.
func (b *Bearer) carriedBy(cfg *rest.Config) *rest.Config {
	if b != nil {
		cfg.BearerToken, cfg.WrapTransport = "", transport.TokenSourceWrapTransport(b)
	}
	return cfg
}
