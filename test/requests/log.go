package requests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Request is one that was made, for tests that name each. Those that count do
// without: a log grows with every request, as nothing else here does.
type Request struct {
	Key
	Namespace, Name string
	// Selector is what a list or a watch is restricted to, and whether it asks
	// for metadata only.
	Selector string
	// Fills tells that all there is was asked for: by a list, or by a watch that
	// begins with what a list would have answered.
	Fills bool
	// Failed tells that there was no answer, or an error.
	Failed bool
}

// String names the request in a line of a test's report.
func (r Request) String() string {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	text := fmt.Sprintf("%s: %s %s %s", r.Cluster, r.Verb, resource, strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
	if r.Selector != "" {
		text += " (" + r.Selector + ")"
	}
	if r.Failed {
		text += " FAILED"
	}
	return strings.TrimSpace(text)
}

// Keep makes the Counter remember each request from now on, for Log.
func (c *Counter) Keep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keeps = true
}

// Log returns the requests since Keep that all filters let pass, in the order
// of their answers.
func (c *Counter) Log(filters ...Filter) []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.log), func(r Request) bool { return !passes(r.Key, filters) })
}

// keep is called under the lock.
func (c *Counter) keep(key Key, r request, failed bool) {
	if c.keeps {
		c.log = append(c.log, Request{
			Key: key, Namespace: r.namespace, Name: r.name, Selector: r.selector, Fills: r.verb == List || r.initial, Failed: failed,
		})
	}
}

// selectorOf reads what a list or a watch is restricted to.
func selectorOf(r *http.Request) string {
	var parts []string
	query := r.URL.Query()
	for _, parameter := range []string{"fieldSelector", "labelSelector"} {
		if value := query.Get(parameter); value != "" {
			parts = append(parts, value)
		}
	}
	// PartialObjectMetadata, or the list of it.
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		parts = append(parts, "metadata")
	}
	return strings.Join(parts, " ")
}
