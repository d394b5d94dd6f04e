package hosted

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// player is common to the clouds: it answers one request at a time, and has hooks.
type player struct {
	// Before is called before each request is answered, without a lock: it may send requests.
	Before func(*http.Request)

	lock sync.Mutex
	// changes are the requests that have changed something.
	changes []string
}

// Changes returns the requests that have changed something, in their order.
func (p *player) Changes() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return slices.Clone(p.changes)
}

// turn waits for the turn of a request, and returns a function that ends it.
func (p *player) turn(r *http.Request) (end func()) {
	if p.Before != nil {
		p.Before(r)
	}
	p.lock.Lock()
	return p.lock.Unlock
}

// respond answers with JSON, or without a body.
func respond(w http.ResponseWriter, status int, out object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if out == nil {
		return
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(err)
	}
}
