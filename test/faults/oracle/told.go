package oracle

import (
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// told records what the API server of one cluster told one manager about its creations.
type told struct {
	*Ledger
	cluster string
	next    http.RoundTripper

	guard sync.Mutex // Guards made; the Ledger has a mutex of its own.
	made  map[string]types.UID
}

// WrapOuter goes between the manager and the fault injector, so it sees the answers that the manager gets. It
// finds a manager that ignores an answer: one that creates an object again although it knows that it created
// it and it exists.
func (l *Ledger) WrapOuter(cluster string, next http.RoundTripper) http.RoundTripper {
	return &told{Ledger: l, cluster: cluster, next: next, made: map[string]types.UID{}}
}

// RoundTrip implements http.RoundTripper.
func (t *told) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return t.next.RoundTrip(r)
	}
	body, err := taken(&r.Body)
	if err != nil {
		return nil, err
	}
	ask, writes := parseAsk(t.cluster, r, body)
	if !writes || ask.Subresource != "" || ask.Name == "" {
		return t.next.RoundTrip(r)
	}
	key := ask.Resource + " " + ask.where()
	if uid := t.known(key); uid != "" {
		t.suspect(r, ask, uid)
	}
	response, err := t.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusCreated {
		return response, err
	}
	answer, err := taken(&response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer to a creation: %w", err)
	}
	t.guard.Lock()
	defer t.guard.Unlock()
	t.made[key] = answered(answer)
	return response, nil
}

func (t *told) known(key string) types.UID {
	t.guard.Lock()
	defer t.guard.Unlock()
	return t.made[key]
}

// suspect records a finding if the object still exists and carries the mark. Somebody may have deleted it, or
// removed the mark by which a manager recognizes it.
func (t *told) suspect(r *http.Request, ask Ask, uid types.UID) {
	objects, err := t.list(r.Context(), t.cluster, ask.Resource)
	if err != nil {
		return // The resource is not watched, or the manager is ending.
	}
	for i := range objects {
		if objects[i].GetUID() == uid && objects[i].GetLabels()[v1alpha1.LabelOrigin] == t.origin &&
			objects[i].GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBySpillway {
			t.find(fmt.Sprintf("%s: %s is made again by a manager that was told that it had made it", t.cluster, title(&objects[i])))
		}
	}
}

func (l *Ledger) find(sentence string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.findings = append(l.findings, sentence)
}
