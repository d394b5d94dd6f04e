package ui

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/ui/view"
)

//go:embed assets
var embedded embed.FS

// server serves the page.
type server struct {
	// ctx ends with the command. Decisions that are being written end with it, and not with the page.
	ctx     context.Context
	address string
	keys    *keys
	live    *live
	assets  fs.FS
	// places bounds how many streams there are.
	places chan struct{}
}

// mostStreams is how many pages may be open. A browser opens six connections to a server, for all of its tabs together.
// Each page holds one, and the rest are for what the pages ask.
const mostStreams = 4

func newServer(ctx context.Context, address string, watched *live) (*server, error) {
	assets, err := fs.Sub(embedded, "assets")
	if err != nil {
		return nil, err
	}
	return &server{ctx: ctx, address: address, keys: newKeys(), live: watched, assets: assets, places: make(chan struct{}, mostStreams)}, nil
}

// url is what is printed. The token is in the fragment, which browsers send to nobody.
func (s *server) url() string { return "http://" + s.address + "/#token=" + s.keys.token }

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", typed(http.FileServerFS(s.assets)))
	mux.HandleFunc("POST /api/session", s.session)
	mux.HandleFunc("GET /api/stream", s.keys.require(s.stream))
	mux.HandleFunc("GET /api/pods", s.keys.require(s.pods))
	mux.HandleFunc("GET /api/pod", s.keys.require(s.pod))
	mux.HandleFunc("POST /api/resolve", s.keys.require(s.resolve))
	return guard(s.address, mux)
}

// typed says what a file is, because Windows may say something else, and then browsers refuse it.
func typed(next http.Handler) http.Handler {
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind := types[path.Ext(r.URL.Path)]; kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		next.ServeHTTP(w, r)
	})
}

// session gives the page its key for the token.
func (s *server) session(w http.ResponseWriter, r *http.Request) {
	var given struct {
		Token string `json:"token"`
	}
	if err := decode(w, r, &given); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	key, ok := s.keys.redeem(given.Token)
	if !ok {
		refuse(w, http.StatusUnauthorized, "this URL was used already, or is of an earlier run: go back to the first page, or start kubectl spillway ui again")
		return
	}
	answer(w, map[string]string{"key": key})
}

// decode reads a small JSON object.
func decode(w http.ResponseWriter, r *http.Request, into any) error {
	const most = 1 << 16
	if r.Header.Get("Content-Type") != "application/json" {
		return errors.New("the body must be application/json")
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // The page has gone.
}

// shown returns what the pages show; nil if that is nothing, after it has said so.
func (s *server) shown(w http.ResponseWriter) *view.Snapshot {
	last, _, failure := s.live.now()
	if last == nil {
		if failure == "" {
			failure = "nothing is read yet"
		}
		refuse(w, http.StatusServiceUnavailable, failure)
	}
	return last
}

// pods answers with a part of the list of pods.
func (s *server) pods(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	from, err := strconv.Atoi(asked.Get("from"))
	if err != nil && asked.Has("from") {
		refuse(w, http.StatusBadRequest, "from must be a number")
		return
	}
	if last := s.shown(w); last != nil {
		answer(w, last.List(view.Filter{
			Namespace: asked.Get("namespace"), State: asked.Get("state"), Place: asked.Get("place"), Name: asked.Get("name"), From: from,
		}))
	}
}

// pod explains a pod, as the command explain does. The page has seen one version of it already.
func (s *server) pod(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	key := client.ObjectKey{Namespace: asked.Get("namespace"), Name: asked.Get("name")}
	last := s.shown(w)
	switch {
	case last == nil:
		return
	case last.Version(key.Namespace, key.Name) == "":
		refuse(w, http.StatusNotFound, fmt.Sprintf("pod %s does not exist any more", key))
		return
	case last.Version(key.Namespace, key.Name) == asked.Get("known"):
		w.WriteHeader(http.StatusNoContent)
		return
	}
	explanation, err := explain.Of(r.Context(), s.live.scope.consumer, key)
	switch {
	case apierrors.IsNotFound(err):
		refuse(w, http.StatusNotFound, fmt.Sprintf("pod %s does not exist any more", key))
	case err != nil:
		refuse(w, http.StatusBadGateway, err.Error())
	default:
		answer(w, last.Details(explanation))
	}
}
