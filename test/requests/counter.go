// Package requests counts the requests of a manager to API servers, inside its transports. It counts by
// cluster, verb and resource. It also counts how often each object was written, and which writes changed
// nothing.
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
// A test that needs each single request calls Keep first, and then reads the Log.
//
// # Trade-offs
//
// Each attempt counts: a request that client-go repeats counts twice. The counter finds a write that changed
// nothing by the resourceVersion of the answer. It compares that with the version in the request, if the
// write is locked to a version, and with the version in the last answer about this object. There is one case
// that the counter does not find: a write that changed nothing, but follows a change by somebody else that
// the request does not name.
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
	// Events are best effort; the library sends them in the background.
	Events Class = "events"
	// Probes ask a cluster for its identity, or ask who somebody is and what they may do.
	Probes Class = "probes"
	// Discovery asks a cluster what it serves.
	Discovery Class = "discovery"
)

// Key says which requests are counted together.
type Key struct {
	Cluster, Verb, Resource, Subresource string
	Class                                Class
}

// Count is the result for a Key.
type Count struct {
	// Requests counts all of them. Failed counts those that got an error or no answer.
	Requests, Failed int
	// NoOps counts the writes that succeeded and changed nothing.
	NoOps int
	// BytesSent is the size of the requests' bodies.
	BytesSent int64
}

// Object is an object that was written.
type Object struct {
	Cluster, Resource, Subresource, Namespace, Name string
}

// versioned is an object without its subresources, because a write to a subresource changes the version of
// the whole object.
type versioned struct{ cluster, resource, namespace, name string }

// Counter counts requests. Several transports may use it at once.
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

// Wrap returns a function that wraps the transport to a cluster.
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

// RoundTrip sends the request unchanged, and counts it when the answer comes.
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
		outcome.gone = about.gone && parsed.resource != "namespaces" // A namespace has another finalizer, in its spec.
		if parsed.name == "" {
			parsed.name = about.name // The name of an object that was just created.
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
