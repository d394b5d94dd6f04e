package consumer

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/cache/ownwrites"
)

// RestoreDetector detects that the consumer's etcd was restored from a backup while the manager runs. Resource
// versions then go back. A watch continues from the last version that it has seen, which is now in the
// future. So it shows nothing until the restored cluster has reached that version. The manager's memory may
// also be about objects that never existed. So the manager must exit and start again.
//
// RestoreDetector looks at the Leases that this process reads and writes every few seconds anyway. These are the
// Leases of the leader election (which a standby also reads), of the replicas and of the virtual nodes. So it
// needs no request of its own, and no binding.
type RestoreDetector struct {
	mu       sync.Mutex
	seen     map[string]client.Object // The latest version of each Lease, by path.
	restored bool
	detected chan error
}

var (
	_ manager.Runnable               = &RestoreDetector{}
	_ manager.LeaderElectionRunnable = &RestoreDetector{}
)

// NewRestoreDetector returns a RestoreDetector that has seen nothing.
func NewRestoreDetector() *RestoreDetector {
	return &RestoreDetector{seen: map[string]client.Object{}, detected: make(chan error, 1)}
}

// NeedLeaderElection is false, because a standby would take over with watches that show nothing.
func (*RestoreDetector) NeedLeaderElection() bool { return false }

// Start waits, and returns an error, which ends the manager, when the consumer was restored from a backup.
func (r *RestoreDetector) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-r.detected:
		return err
	}
}

// Detected reports whether the consumer was restored.
func (r *RestoreDetector) Detected() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.restored
}

// Wrap returns a transport that checks the Leases.
func (r *RestoreDetector) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if !strings.Contains(req.URL.Path, "/apis/coordination.k8s.io/") || !strings.Contains(req.URL.Path, "/leases/") || req.Method == http.MethodDelete {
			return next.RoundTrip(req)
		}
		before := r.latest(req.URL.Path) // Read it first, because another request may overtake this one.
		resp, err := next.RoundTrip(req)
		if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
			return resp, err
		}
		body, err := keepBody(resp)
		if err != nil {
			return nil, err
		}
		if object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
			if lease, ok := object.(client.Object); ok {
				r.note(req.URL.Path, before, lease)
			}
		}
		return resp, nil
	})
}

func (r *RestoreDetector) latest(path string) client.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[path]
}

// note compares a Lease with the version that was known before the request.
func (r *RestoreDetector) note(path string, before, lease client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if latest := r.seen[path]; latest == nil || ownwrites.Older(latest, lease) {
		r.seen[path] = lease
	}
	if before == nil || !ownwrites.Older(lease, before) {
		return
	}
	err := fmt.Errorf("the consumer was restored from a backup (the version of Lease %s went back from %s to %s): the manager reads everything again",
		lease.GetName(), before.GetResourceVersion(), lease.GetResourceVersion())
	r.restored = true
	select {
	case r.detected <- err:
	default: // It is already reported.
	}
}
