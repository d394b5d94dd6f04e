package transport

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net/http"
)

// noteAuthority is the key of a context of whose answers the authority is wanted.
type noteAuthority struct{}

// WithAuthority has told which certificate authority vouches for who has answered a
// request: a hash of its key, which stays the same while its certificate is renewed.
// Of the authorities in a kubeconfig it is the one that the chain ends at. It is asked
// of the very answer: behind one address, a connection may lead to one cluster, and
// the next one to another.
func WithAuthority(ctx context.Context, note func(authority string)) context.Context {
	return context.WithValue(ctx, noteAuthority{}, note)
}

// WithoutAuthority is ctx for a request that is made on behalf of another one, such as
// when its connection is opened: what is wanted is not the authority of its answer.
func WithoutAuthority(ctx context.Context) context.Context {
	return context.WithValue(ctx, noteAuthority{}, nil)
}

func tellAuthority(req *http.Request, resp *http.Response) {
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
