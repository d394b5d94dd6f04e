package kubelet

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Of requests that nobody is known to have sent, a few are logged, and then one in that
// time: whoever reaches the port can send as many as they like.
const (
	fewUnknown      = 10
	unknownInterval = time.Minute
)

var errNoCredentials = errors.New("the request has neither a client certificate nor a token")

// unknown are the requests that nobody is known to have sent. The zero value is ready for
// use.
type unknown struct {
	mu     sync.Mutex
	seldom rate.Sometimes
	// unlogged are those since the last one that was logged.
	unlogged int
}

// note logs why it is not known who has sent a request, at a bounded rate. A nil error is
// that it does not say so.
func (u *unknown) note(r *http.Request, err error) {
	if err == nil {
		err = errNoCredentials
	}
	logger := log.FromContext(r.Context())
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unlogged++
	u.seldom.First, u.seldom.Interval = fewUnknown, unknownInterval
	u.seldom.Do(func() {
		logger.Info("the sender of a request to the kubelet API is not known", "from", r.RemoteAddr,
			"because", err, "unlogged", u.unlogged-1)
		u.unlogged = 0
	})
}
