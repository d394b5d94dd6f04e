package oracle

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// witness is one connection of the manager to a cluster.
type witness struct {
	*Ledger
	cluster string
	next    http.RoundTripper
}

// WrapNamed returns the witness. It goes between the fault injector and the network, so it sees what reaches
// an API server. cluster is Consumer or the ID of a provider.
func (l *Ledger) WrapNamed(cluster string, next http.RoundTripper) http.RoundTripper {
	return &witness{Ledger: l, cluster: cluster, next: next}
}

// RoundTrip implements http.RoundTripper. It checks the clusters before it sends a request, and records which
// object was deleted.
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := taken(&r.Body)
	if err != nil {
		return nil, err
	}
	ask, writes := parseAsk(w.cluster, r, body)
	if !writes {
		return w.next.RoundTrip(r)
	}
	for _, sentence := range always(w.origin, ask) {
		w.find(sentence)
	}
	found := w.look(r.Context(), ask)
	response, err := w.next.RoundTrip(r)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		// A refused write, such as a conflict, changes nothing. A write without an answer may have happened:
		// the end state shows its result.
		return response, err
	}
	w.mu.Lock()
	w.findings = append(w.findings, found...)
	w.mu.Unlock()
	if !ask.deletes() {
		return response, nil
	}
	answer, err := taken(&response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer to a deletion: %w", err)
	}
	if uid := answered(answer); uid != "" {
		w.mu.Lock()
		w.deleted[w.cluster] = append(w.deleted[w.cluster], uid)
		w.mu.Unlock()
	}
	return response, nil
}

// look judges a request, and returns what is wrong with it.
func (w *witness) look(ctx context.Context, ask Ask) []string {
	b := &bench{origin: w.origin, list: func(cluster, resource string) ([]unstructured.Unstructured, error) {
		return w.list(ctx, cluster, resource)
	}}
	for i := range w.lane.Clusters[1:] {
		b.providers = append(b.providers, w.lane.name(i+1))
	}
	found, err := b.judge(ask)
	if err != nil && ctx.Err() == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.broken = append(w.broken, fmt.Errorf("looking before %s %s %s: %w", ask.Verb, ask.Resource, ask.where(), err))
	}
	return found
}

// list lists all objects of a resource, without a cache.
func (l *Ledger) list(ctx context.Context, cluster, resource string) ([]unstructured.Unstructured, error) {
	for _, eye := range l.eyes {
		if eye.cluster == cluster && eye.resource.Resource == resource {
			list, err := eye.client.Resource(eye.resource).List(ctx, everything)
			if err != nil {
				return nil, fmt.Errorf("listing %s of %s: %w", resource, cluster, err)
			}
			return list.Items, nil
		}
	}
	return nil, fmt.Errorf("%s of %s are not watched", resource, cluster)
}

// taken reads a body, and replaces it with one of the same content.
func taken(body *io.ReadCloser) ([]byte, error) {
	if *body == nil {
		return nil, nil
	}
	content, err := io.ReadAll(*body)
	_ = (*body).Close() // It was read to its end, or the error says more.
	*body = io.NopCloser(bytes.NewReader(content))
	return content, err
}
