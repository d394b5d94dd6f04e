package consumer

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRepeats(t *testing.T) {
	const (
		path    = "/apis/offloading.spillway.io/v1alpha1/clusterbindings/eu/status"
		patch   = `{"metadata":{"resourceVersion":"7"},"status":{"new":1}}`
		same    = `{"metadata":{"resourceVersion":"7"},"status":{}}`
		changed = `{"metadata":{"resourceVersion":"8"},"status":{"new":1}}`
		invalid = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":422,"reason":"Invalid","message":"status.phase: Unsupported value"}`
		denied  = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":422,"message":"ValidatingAdmissionPolicy 'p' denied request"}`
	)
	for name, test := range map[string]struct {
		path, patch, then string
		code              int
		answer            string
		forget            bool
		want              int // How often it is sent.
	}{
		"it changes nothing":                    {path, patch, patch, 200, same, false, 1},
		"it is invalid":                         {path, patch, patch, 422, invalid, false, 1},
		"it changes something":                  {path, patch, patch, 200, changed, false, 2},
		"a policy denies it":                    {path, patch, patch, 422, denied, false, 2},
		"the API server fails":                  {path, patch, patch, 500, same, false, 2},
		"then another one":                      {path, patch, strings.Replace(patch, "1}", "2}", 1), 200, same, false, 2},
		"then of another version of the object": {path, patch, strings.Replace(patch, "7", "8", 1), 200, same, false, 2},
		"then under another schema":             {path, patch, patch, 200, same, true, 2},
		"of no version":                         {path, `{"status":{}}`, `{"status":{}}`, 200, same, false, 2},
		"of another kind":                       {"/api/v1/namespaces/team/pods/a/status", patch, patch, 200, same, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, sent := NewRepeats(), 0
			transport := r.Wrap(roundTripper(func(req *http.Request) (*http.Response, error) {
				sent++
				if body, err := io.ReadAll(req.Body); err != nil || len(body) == 0 {
					t.Errorf("the API server reads %q, %v", body, err)
				}
				return &http.Response{StatusCode: test.code, Body: io.NopCloser(strings.NewReader(test.answer))}, nil
			}))
			for i, patch := range []string{test.patch, test.then} {
				if i > 0 && test.forget {
					r.Forget()
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "https://consumer"+test.path, strings.NewReader(patch))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(resp.Body); err != nil || string(body) != test.answer || resp.StatusCode != test.code {
					t.Errorf("the client reads %d %q, %v", resp.StatusCode, body, err)
				}
				_ = resp.Body.Close()
			}
			if sent != test.want {
				t.Errorf("sent %d times, want %d", sent, test.want)
			}
		})
	}
}
