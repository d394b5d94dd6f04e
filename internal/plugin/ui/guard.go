package ui

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
)

// policy lets a page load and reach nothing but this server, and lets no script turn text into HTML.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard refuses requests that a page of somebody else makes the browser send. A name that leads to 127.0.0.1 (DNS
// rebinding) shows in Host, another site in Origin or Sec-Fetch-Site.
func guard(address string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		origin, api := r.Header.Get("Origin"), strings.HasPrefix(r.URL.Path, "/api/")
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case r.Host != address:
			refuse(w, http.StatusMisdirectedRequest, "this is "+address+" only; through SSH, forward the same port: start kubectl spillway ui with --port")
		case origin != "" && origin != "http://"+address, origin == "" && r.Method == http.MethodPost:
			refuse(w, http.StatusForbidden, "the request comes from another site")
		case api && site != "" && site != "same-origin":
			refuse(w, http.StatusForbidden, "the request comes from another site")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.Error(w, why, status)
}

// keys are the token in the printed URL, which works once, and the key that the page gets for it. The page sends the
// key in a header with each request. No cookie has it: browsers send cookies to all ports of 127.0.0.1, and with
// requests that other sites cause. So the key also is what protects against such requests.
type keys struct {
	mu    sync.Mutex
	token string // Empty once it was used.
	key   string
}

func newKeys() *keys { return &keys{token: random(), key: random()} }

// random returns 256 random bits.
func random() string {
	bits := make([]byte, sha256.Size)
	_, _ = rand.Read(bits) // It never fails.
	return base64.RawURLEncoding.EncodeToString(bits)
}

// redeem returns the key for the token, once.
func (k *keys) redeem(token string) (key string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(k.token)) != 1 {
		return "", false
	}
	k.token = ""
	return k.key, true
}

// require refuses requests without the key.
func (k *keys) require(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer || subtle.ConstantTimeCompare([]byte(given), []byte(k.key)) != 1 {
			refuse(w, http.StatusUnauthorized, "this page has no key: start kubectl spillway ui again, and open the URL that it prints")
			return
		}
		next(w, r)
	}
}
