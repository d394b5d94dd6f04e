package kubelet

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Limits for logging requests of unknown clients: the first few, and then one per interval. Anybody who
// reaches the port can send as many as they like.
const (
	fewUnknown      = 10
	unknownInterval = time.Minute
)

var errNoCredentials = errors.New("the request has neither a client certificate nor a token")

// unknown counts and logs the requests of unknown clients. The zero value is ready for use.
type unknown struct {
	mu     sync.Mutex
	seldom rate.Sometimes
	// unlogged is the number of requests since the last one that was logged.
	unlogged int
}

// note logs why the sender of a request is unknown, at a limited rate. A nil error means that the request has
// no credentials.
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
