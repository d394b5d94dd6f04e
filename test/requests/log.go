package requests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Request is one request, for tests that look at single requests. Tests that only count do not need it, and a
// log grows with every request, unlike everything else here.
type Request struct {
	Key
	Namespace, Name string
	// Selector is the restriction of a list or a watch. It also says whether the request asks for metadata
	// only.
	Selector string
	// Fills says that the request asked for all objects: by a list, or by a watch that begins with the
	// content of a list.
	Fills bool
	// Failed says that there was an error or no answer.
	Failed bool
}

// String returns the request as text for a line of a test's report.
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

// Log returns the requests since Keep that pass all filters, in the order of their answers.
func (c *Counter) Log(filters ...Filter) []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.log), func(r Request) bool { return !passes(r.Key, filters) })
}

// keep remembers a request. The caller holds the lock.
func (c *Counter) keep(key Key, r request, failed bool) {
	if c.keeps {
		c.log = append(c.log, Request{
			Key: key, Namespace: r.namespace, Name: r.name, Selector: r.selector, Fills: r.verb == List || r.initial, Failed: failed,
		})
	}
}

// selectorOf returns the restriction of a list or a watch.
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
