package stuckpod

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/inventory"
)

// seen has the pods that their provider refuses: when this process saw that first, whether that was before they were due,
// and what their owners were told. It is lost with the process.
type seen struct {
	mu   sync.Mutex
	pods map[inventory.Request]known
}

type known struct {
	uid   types.UID
	at    time.Time
	early bool
	told  string
}

// first notes a pod, and returns when it was noted first.
func (s *seen) first(req inventory.Request, uid types.UID, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods == nil {
		s.pods = map[inventory.Request]known{}
	}
	if before, ok := s.pods[req]; ok && before.uid == uid {
		return before.at
	}
	s.pods[req] = known{uid: uid, at: now}
	return now
}

// early reports whether a noted pod has been seen before it was due. It notes that if it is now.
func (s *seen) early(req inventory.Request, now bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.pods[req]
	if ok && now {
		before.early = true
		s.pods[req] = before
	}
	return before.early
}

// tell reports whether the owner of a noted pod has not been told that yet.
func (s *seen) tell(req inventory.Request, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.pods[req]
	isNew := before.told != reason
	before.told = reason
	s.pods[req] = before
	return isNew
}

// has reports whether a pod is noted.
func (s *seen) has(req inventory.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.pods[req]
	return ok
}

func (s *seen) forget(req inventory.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, req)
}

// forgetAll forgets the pods of a binding that is gone.
func (s *seen) forgetAll(binding string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for req := range s.pods {
		if req.Binding == binding {
			delete(s.pods, req)
		}
	}
}
