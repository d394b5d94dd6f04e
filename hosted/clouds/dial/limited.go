package dial

import (
	"context"
	"io"
	"net/http"
	"strings"

	"golang.org/x/time/rate"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/internal/provider/transport/decoded"
)

// limited is a transport that waits for its limiter, and reads only as much of an answer as the allowance of
// the request's context permits. The clouds' libraries read answers of any size, also with errors.
type limited struct {
	http.RoundTripper
	limit *rate.Limiter
}

// RoundTrip waits for the limiter, and sends the request.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	allowance := cloud.AllowanceOf(r.Context())
	ctx, cancel := context.WithDeadline(r.Context(), allowance.Deadline())
	err := l.limit.Wait(ctx)
	if err != nil && r.Body != nil {
		_ = r.Body.Close() // Every RoundTripper must close it.
	}
	var response *http.Response
	if err == nil {
		response, err = l.RoundTripper.RoundTrip(r.WithContext(ctx))
	}
	if err != nil {
		cancel()
		return nil, err
	}
	answer := &answer{ReadCloser: response.Body, allowance: allowance, cancel: cancel, isXML: strings.Contains(response.Header.Get("Content-Type"), "xml")}
	// The libraries decode it into maps. An object with a single field, as in a route, takes the most memory.
	answer.json = decoded.JSON{AnyKind: true, Routes: true}
	response.Body = answer
	return response, nil
}

// perByteOfXML is how much memory a byte of XML takes. In EC2's answers, each empty element becomes an
// object.
const perByteOfXML = 16

// answer is the body of an answer.
type answer struct {
	io.ReadCloser
	allowance *cloud.Allowance
	cancel    context.CancelFunc
	isXML     bool
	json      decoded.JSON
	size      int64
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.size += int64(n)
	memory, tooDeep := int64(n)*perByteOfXML, error(nil)
	if !a.isXML {
		memory, tooDeep = a.json.Read(p[:n])
	}
	if tooDeep != nil {
		return 0, tooDeep
	}
	if tooMuch := a.allowance.Take(a.size, memory); tooMuch != nil {
		return 0, tooMuch
	}
	return n, err
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}

// noRedirect returns a redirect as the answer, because no other server may get the credentials.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
