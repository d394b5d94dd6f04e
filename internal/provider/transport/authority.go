package transport

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net/http"
)

// noteAuthority is the context key of the function that wants the authority.
type noteAuthority struct{}

// WithAuthority passes note the certificate authority that vouches for the answering server: a hash of its key,
// which survives the renewal of its certificate. If a kubeconfig has several authorities, it is the authority
// at the end of the chain. It comes from the answer itself: behind one address, each connection may lead to
// another cluster.
func WithAuthority(ctx context.Context, note func(authority string)) context.Context {
	return context.WithValue(ctx, noteAuthority{}, note)
}

func passAuthority(req *http.Request, resp *http.Response) {
	if note, ok := req.Context().Value(noteAuthority{}).(func(string)); ok {
		note(authorityOf(resp.TLS))
	}
}

func authorityOf(state *tls.ConnectionState) string {
	if state == nil || len(state.VerifiedChains) == 0 {
		return ""
	}
	chain := state.VerifiedChains[0]
	sum := sha256.Sum256(chain[len(chain)-1].RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}
