package ui

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

const address = "127.0.0.1:4711"

func request(method, path, body string, headers map[string]string) *http.Request {
	r := httptest.NewRequest(method, "http://"+address+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	return r
}

func answered(s *server, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	return w
}

func served(t *testing.T) *server {
	t.Helper()
	s, err := newServer(t.Context(), address, newLive(scope{}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhoMayAsk(t *testing.T) {
	s := served(t)
	ours := map[string]string{"Authorization": "Bearer " + s.keys.key, "Origin": "http://" + address}
	with := func(more map[string]string) map[string]string {
		all := map[string]string{}
		for _, one := range []map[string]string{ours, more} {
			for name, value := range one {
				all[name] = value
			}
		}
		return all
	}
	for name, test := range map[string]struct {
		method, path string
		headers      map[string]string
		want         int
	}{
		"the page needs no key":               {"GET", "/", nil, http.StatusOK},
		"a script is readable":                {"GET", "/ui.js", map[string]string{"Sec-Fetch-Site": "same-origin"}, http.StatusOK},
		"a name that leads here":              {"GET", "/", map[string]string{"Host": "evil.example:4711"}, http.StatusMisdirectedRequest},
		"another port":                        {"GET", "/", map[string]string{"Host": "127.0.0.1:80"}, http.StatusMisdirectedRequest},
		"such a name, with the key":           {"GET", "/api/pods", with(map[string]string{"Host": "evil.example:4711"}), http.StatusMisdirectedRequest},
		"pods without a key":                  {"GET", "/api/pods", nil, http.StatusUnauthorized},
		"pods with another key":               {"GET", "/api/pods", map[string]string{"Authorization": "Bearer x"}, http.StatusUnauthorized},
		"pods with the token":                 {"GET", "/api/pods", map[string]string{"Authorization": "Bearer " + s.keys.token}, http.StatusUnauthorized},
		"a pod without a key":                 {"GET", "/api/pod", nil, http.StatusUnauthorized},
		"a stream without a key":              {"GET", "/api/stream", nil, http.StatusUnauthorized},
		"pods with the key, before any watch": {"GET", "/api/pods", ours, http.StatusServiceUnavailable},
		"another origin":                      {"GET", "/api/pods", with(map[string]string{"Origin": "http://evil.example"}), http.StatusForbidden},
		"another port of this machine":        {"GET", "/api/pods", with(map[string]string{"Origin": "http://127.0.0.1:80"}), http.StatusForbidden},
		"the origin of a sandbox":             {"GET", "/", map[string]string{"Origin": "null"}, http.StatusForbidden},
		"another site":                        {"GET", "/api/pods", with(map[string]string{"Sec-Fetch-Site": "cross-site"}), http.StatusForbidden},
		"the same site, on another port":      {"GET", "/api/pods", with(map[string]string{"Sec-Fetch-Site": "same-site"}), http.StatusForbidden},
		"a decision without an origin":        {"POST", "/api/resolve", map[string]string{"Authorization": ours["Authorization"]}, http.StatusForbidden},
		"a decision without a key":            {"POST", "/api/resolve", map[string]string{"Origin": ours["Origin"]}, http.StatusUnauthorized},
		"a decision from a form":              {"POST", "/api/resolve", with(map[string]string{"Content-Type": "text/plain"}), http.StatusBadRequest},
		"a decision by GET":                   {"GET", "/api/resolve", ours, http.StatusNotFound},
	} {
		w := answered(s, request(test.method, test.path, "{}", test.headers))
		if w.Code != test.want {
			t.Errorf("%s: %d, want %d: %s", name, w.Code, test.want, w.Body)
		}
		if got := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self';") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: the policy is %q", name, got)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: headers %v", name, w.Header())
		}
	}
}

func TestTokenWorksOnce(t *testing.T) {
	s := served(t)
	token := s.keys.token
	if len(token) < 43 || !strings.HasSuffix(s.url(), "/#token="+token) {
		t.Fatalf("the URL is %s", s.url())
	}
	origin := map[string]string{"Origin": "http://" + address}
	session := func(token string) *httptest.ResponseRecorder {
		return answered(s, request("POST", "/api/session", `{"token":"`+token+`"}`, origin))
	}
	for _, wrong := range []string{"", "x", token + "x"} {
		if w := session(wrong); w.Code != http.StatusUnauthorized {
			t.Errorf("token %q: %d", wrong, w.Code)
		}
	}
	if w := session(token); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), s.keys.key) {
		t.Errorf("the token: %d %s", w.Code, w.Body)
	}
	for _, again := range []string{token, ""} {
		if w := session(again); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), s.keys.key) {
			t.Errorf("once more, with %q: %d", again, w.Code)
		}
	}
}

// TestAssets: the page loads nothing from elsewhere, and no script turns text into HTML or code. The policy would
// refuse it.
func TestAssets(t *testing.T) {
	s := served(t)
	foreign := regexp.MustCompile(`https?://|//[a-z]+\.|@import|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|\son[a-z]+="|\sstyle="|<script>`)
	seen := 0
	err := fs.WalkDir(s.assets, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		seen++
		content, err := fs.ReadFile(s.assets, path)
		text := strings.ReplaceAll(string(content), "http://www.w3.org/2000/svg", "")
		if found := foreign.FindString(text); found != "" {
			t.Errorf("%s has %s", path, found)
		}
		return err
	})
	if err != nil || seen < 5 {
		t.Errorf("%d files, %v", seen, err)
	}
}
