package dial

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/time/rate"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// answers is a transport that answers each request with the same body.
type answers struct {
	status  int
	content string
	body    io.Reader
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {a.content}}, Body: io.NopCloser(a.body)}, nil
}

// endless repeats a text for ever.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[e.at%len(e.text)]
		e.at++
	}
	return len(p), nil
}

func list(of string) io.Reader { return io.MultiReader(strings.NewReader("["), &endless{text: of}) }

// TestAnswersAreBounded: no endless answer is read to the end, and all answers of one reconcile together are
// limited.
func TestAnswersAreBounded(t *testing.T) {
	tests := map[string]struct {
		body    io.Reader
		content string
		times   int
		tooMuch bool
		most    int // Bytes.
	}{
		"a cluster":               {body: strings.NewReader(`{"a": [` + strings.Repeat(`{"b": "c"},`, 1000) + `{}]}`), times: 1, most: 1 << 20},
		"text without end":        {body: &endless{text: `x`}, times: 1, tooMuch: true, most: 9 << 20},
		"numbers without end":     {body: list(`0,`), times: 1, tooMuch: true, most: 1 << 20},
		"objects without end":     {body: list(`{},{"a":0},`), times: 1, tooMuch: true, most: 1 << 20},
		"elements without end":    {body: &endless{text: `<item/>`}, content: "text/xml;charset=UTF-8", times: 1, tooMuch: true, most: 2 << 20},
		"many, each small enough": {body: &endless{text: `x`}, times: 40, tooMuch: true, most: 17 << 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, done := cloud.WithAllowance(t.Context())
			defer done()
			for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
				client := &http.Client{Transport: limited{answers{status, test.content, test.body}, rate.NewLimiter(rate.Inf, 1)}}
				read, err := 0, error(nil)
				for range test.times {
					var body io.Reader
					if body, err = get(ctx, client); err != nil {
						break
					}
					if test.times > 1 {
						body = io.LimitReader(body, 1<<20)
					}
					var part []byte
					part, err = io.ReadAll(body)
					read += len(part)
				}
				if errors.Is(err, cloud.ErrTooMuch) != test.tooMuch || read > test.most {
					t.Errorf("%d: read %d bytes, got %v", status, read, err)
				}
			}
		})
	}
}

func get(ctx context.Context, client *http.Client) (io.Reader, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://cloud.example", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// hangs is a transport that never answers.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestTimeIsBounded: a cloud that hangs ends its reconcile, but not what follows, such as renewing a token.
func TestTimeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, done := cloud.WithAllowance(t.Context())
		defer done()
		client := func(next http.RoundTripper) *http.Client {
			return &http.Client{Transport: limited{next, rate.NewLimiter(rate.Inf, 1)}}
		}
		for range 2 {
			if _, err := get(ctx, client(hangs{})); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that the time is over", err)
			}
		}
		anew, done := cloud.WithAllowance(ctx)
		defer done()
		if _, err := get(anew, client(answers{http.StatusOK, "", strings.NewReader("")})); err != nil {
			t.Errorf("with an allowance of its own: %v", err)
		}
	})
}

// TestNoRedirect: no other server gets a signed request.
func TestNoRedirect(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	client, err := (&Dialer{EKS: server.URL, EC2: server.URL, Once: true}).Client(t.Context(), cluster("1", "a", "s"), secret("s", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(t.Context()); err == nil || asked > 0 {
		t.Errorf("asked %d times elsewhere; %v", asked, err)
	}
}

// TestLargeAnswersOfOthers: while other clouds send as much as they can, a cluster of common size is read, and
// a large one waits until there is memory again.
func TestLargeAnswersOfOthers(t *testing.T) {
	read := func(ctx context.Context, body io.Reader) error {
		answer, err := get(ctx, &http.Client{Transport: limited{answers{http.StatusOK, "", body}, rate.NewLimiter(rate.Inf, 1)}})
		if err == nil {
			_, err = io.Copy(io.Discard, answer)
		}
		return err
	}
	common := func() io.Reader { return strings.NewReader(`"` + strings.Repeat("x", 300<<10) + `"`) }
	large := func() io.Reader { return strings.NewReader(`"` + strings.Repeat("x", 3<<20) + `"`) }
	var ends []func()
	for range 64 {
		ctx, done := cloud.WithAllowance(t.Context())
		ends = append(ends, done)
		for err := error(nil); err == nil; {
			err = read(ctx, large())
		}
	}
	ctx, done := cloud.WithAllowance(t.Context())
	defer done()
	if err := read(ctx, common()); err != nil {
		t.Errorf("a common cluster: %v", err)
	}
	if err := read(ctx, large()); !errors.Is(err, cloud.ErrNoRoom) {
		t.Errorf("a large one is read, although there is no memory: %v", err)
	}
	for _, end := range ends {
		end()
	}
	again, done := cloud.WithAllowance(t.Context())
	defer done()
	if err := read(again, large()); err != nil {
		t.Errorf("a large one, after all others are done: %v", err)
	}
}
