// Package requests counts what a manager asks of API servers, from within its
// transports: by cluster, verb and resource, how often it wrote each object,
// and which of its writes changed nothing.
//
// # Usage
//
//	counter := requests.NewCounter()
//	manager.New(ctx, config, manager.Options{
//		WrapTransport: counter.Wrap("consumer"),
//		Fleet:         fleet.Options{WrapTransport: counter.WrapNamed},
//	})
//	before := counter.Figures()
//	...
//	during := counter.Figures().Since(before)
//	during.Sum(requests.Writes, requests.Resource("namespacemaps"))
//
// A test that is to name each request calls Keep first, and reads the Log.
//
// # Trade-offs
//
// Each attempt counts: a request that client-go repeats is two. Whether a write
// changed something shows at the resourceVersion of the answer, which is
// compared with the one in the request (a write that is locked to a version)
// and with the one of the last answer about that object. A write that changed
// nothing, but comes after a change by somebody else which the request does
// not name, is not found out.
package requests

import (
	"net/http"
	"sync"
)

// Class says what a request is for. Only Work may grow with the work.
type Class string

const (
	// Work is everything that is in no other class.
	Work Class = "work"
	// Leases are renewed as time goes by.
	Leases Class = "leases"
	// Events are best effort, and sent by the library in the background.
	Events Class = "events"
	// Probes ask a cluster for its identity, or who somebody is and what they may.
	Probes Class = "probes"
	// Discovery asks a cluster what it serves.
	Discovery Class = "discovery"
)

// Key says what requests are counted together.
type Key struct {
	Cluster, Verb, Resource, Subresource string
	Class                                Class
}

// Count is what is counted of a Key.
type Count struct {
	// Requests are all of them; Failed those that got no answer or an error.
	Requests, Failed int
	// NoOps are the writes that succeeded and changed nothing.
	NoOps int
	// BytesSent are the bodies of the requests.
	BytesSent int64
}

// Object is one that was written.
type Object struct {
	Cluster, Resource, Subresource, Namespace, Name string
}

// versioned is an object without its parts: a write to one of them changes the
// version of the whole.
type versioned struct{ cluster, resource, namespace, name string }

// Counter counts. It may be used by several transports at once.
type Counter struct {
	mu       sync.Mutex
	counts   map[Key]Count
	writes   map[Object]int
	versions map[versioned]string
	keeps    bool
	log      []Request
}

// NewCounter returns a Counter that has counted nothing.
func NewCounter() *Counter {
	return &Counter{counts: map[Key]Count{}, writes: map[Object]int{}, versions: map[versioned]string{}}
}

// Wrap returns what wraps the transport to a cluster.
func (c *Counter) Wrap(cluster string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return c.WrapNamed(cluster, next) }
}

// WrapNamed wraps the transport to a cluster.
func (c *Counter) WrapNamed(cluster string, next http.RoundTripper) http.RoundTripper {
	return &transport{counter: c, cluster: cluster, next: next}
}

type transport struct {
	counter *Counter
	cluster string
	next    http.RoundTripper
}

// RoundTrip passes the request on as it is, and counts it once it is answered.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	parsed := parse(r)
	var sent string
	if parsed.writes() {
		sent = sentVersion(r)
	}
	response, err := t.next.RoundTrip(r)
	outcome := outcome{failed: err != nil || response.StatusCode >= http.StatusBadRequest, bytes: max(r.ContentLength, 0)}
	if !outcome.failed && parsed.writes() {
		var about meta
		if about, err = receivedMeta(response); err != nil {
			return nil, err
		}
		outcome.sent, outcome.received = sent, about.version
		outcome.gone = about.gone && parsed.resource != "namespaces" // Those have a finalizer of their own, in the spec.
		if parsed.name == "" {
			parsed.name = about.name // Of an object that was just created.
		}
	}
	t.counter.note(t.cluster, parsed, outcome)
	return response, err
}

type outcome struct {
	failed         bool
	bytes          int64
	sent, received string // resourceVersions, or ""
	gone           bool
}

func (c *Counter) note(cluster string, r request, o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := Key{cluster, r.verb, r.resource, r.subresource, r.class()}
	count := c.counts[key]
	count.Requests++
	count.BytesSent += o.bytes
	if o.failed {
		count.Failed++
	}
	if r.writes() {
		c.writes[Object{cluster, r.resource, r.subresource, r.namespace, r.name}]++
	}
	if o.received != "" && !r.dryRun {
		object := versioned{cluster, r.resource, r.namespace, r.name}
		if !o.gone && (o.received == o.sent || o.received == c.versions[object]) {
			count.NoOps++
		}
		c.versions[object] = o.received
	}
	c.counts[key] = count
	c.keep(key, r, o.failed)
}
