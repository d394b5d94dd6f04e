package ui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-io/spillway/internal/plugin/ui/view"
)

// page is what a page in a browser would get.
type page struct {
	*testing.T
	origin, key string
	pages       chan view.Page
	mu          sync.Mutex
	all         bytes.Buffer // Everything that it got.
}

// open opens the URL that was printed, and reads the stream until the test ends or the returned function is called.
func open(t *testing.T, url string) (p *page, leave func()) {
	t.Helper()
	origin, token, _ := strings.Cut(url, "/#token=")
	p = &page{T: t, origin: origin, pages: make(chan view.Page, 1000)}
	var got struct {
		Key string `json:"key"`
	}
	p.decode(p.ask("POST", "/api/session", `{"token":"`+token+`"}`), &got)
	p.key = got.Key
	return p, p.stream()
}

func (p *page) request(ctx context.Context, method, path, body string) *http.Response {
	p.Helper()
	r, err := http.NewRequestWithContext(ctx, method, p.origin+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Origin", p.origin)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	return answer
}

// ask returns the whole answer, which must have the status 200.
func (p *page) ask(method, path, body string) []byte {
	p.Helper()
	answer := p.request(p.Context(), method, path, body)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, text, err)
	}
	p.keep(text)
	return text
}

func (p *page) decode(text []byte, into any) {
	p.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		p.Fatalf("%v in %s", err, text)
	}
}

func (p *page) keep(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all.Write(text)
}

func (p *page) got() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.String()
}

func (p *page) stream() (leave func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.Context()))
	answer := p.request(ctx, "GET", "/api/stream", "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = answer.Body.Close() }()
		lines, event := bufio.NewReader(answer.Body), ""
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			p.keep(line)
			text := strings.TrimSpace(string(line))
			if name, ok := strings.CutPrefix(text, "event: "); ok {
				event = name
			}
			data, ok := strings.CutPrefix(text, "data: ")
			if !ok || event != "page" {
				continue
			}
			var next view.Page
			if err := json.Unmarshal([]byte(data), &next); err != nil {
				p.Errorf("%v in %s", err, data)
				return
			}
			p.pages <- next
		}
	}()
	leave = func() { cancel(); <-ended }
	p.Cleanup(leave)
	return leave
}

// until waits for a page that is as wanted.
func (p *page) until(what string, wanted func(view.Page) bool) view.Page {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	var last view.Page
	for {
		select {
		case last = <-p.pages:
			if wanted(last) {
				return last
			}
		case <-ctx.Done():
			p.Fatalf("no page has %s; the last is %+v", what, last)
		}
	}
}
