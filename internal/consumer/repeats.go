package consumer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Repeats stops a patch that has changed nothing, or was invalid, from being sent again while its object and
// the kind's schema stay the same. An API server with older CustomResourceDefinitions drops fields that it
// does not know. Then a controller that compares the stored object with the desired one would write forever.
// Repeats answers such a patch with the first response.
//
// Patches without a resourceVersion are always sent, because nobody knows whether they would change anything.
type Repeats struct {
	mu sync.Mutex
	// futile has the last such patch of each path, so at most one for each object of Spillway's kinds.
	futile map[string]futile
}

type futile struct {
	patch, answer []byte
	response      http.Response // Without its body.
}

// NewRepeats returns Repeats that remember no patch.
func NewRepeats() *Repeats { return &Repeats{futile: map[string]futile{}} }

// Forget forgets all patches, because the schemas may have changed.
func (r *Repeats) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.futile)
}

// Wrap returns a transport that answers repeated patches itself.
func (r *Repeats) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodPatch || req.Body == nil || !strings.HasPrefix(req.URL.Path, "/apis/"+v1alpha1.GroupVersion.Group+"/") {
			return next.RoundTrip(req)
		}
		patch, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("reading what is to be sent to the consumer: %w", err)
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(patch))
		if known, ok := r.of(req.URL.Path); ok && bytes.Equal(known.patch, patch) {
			resp := known.response
			resp.Request, resp.Body = req, io.NopCloser(bytes.NewReader(known.answer))
			return &resp, nil
		}
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		answer, err := keepBody(resp)
		if err != nil {
			return nil, err
		}
		r.note(req.URL.Path, patch, answer, resp)
		return resp, nil
	})
}

func (r *Repeats) of(path string) (futile, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.futile[path]
	return known, ok
}

// note remembers a patch that did not change the object's resource version, or whose object the schema
// refused.
func (r *Repeats) note(path string, patch, answer []byte, resp *http.Response) {
	before := versionOf(patch)
	_, denied := refusalMessage(resp.StatusCode, answer)
	invalid := resp.StatusCode == http.StatusUnprocessableEntity && !denied
	r.mu.Lock()
	defer r.mu.Unlock()
	if before == "" || len(answer) == mostBody || !invalid && (resp.StatusCode != http.StatusOK || versionOf(answer) != before) {
		delete(r.futile, path)
		return
	}
	response := *resp
	response.Body = nil
	r.futile[path] = futile{patch, answer, response}
}

// versionOf returns the resourceVersion in an object or a patch.
func versionOf(document []byte) string {
	var object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(document, &object) // A document that does not parse has no version.
	return object.Metadata.ResourceVersion
}
