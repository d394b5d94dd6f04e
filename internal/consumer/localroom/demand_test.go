package localroom

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestDemand: nodes and pods are watched as long as anybody needs them. Watches that were asked for before the start
// begin with it.
func TestDemand(t *testing.T) {
	began, ended := make(chan string, 10), make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := map[string]string{"/api/v1/nodes": "Node", "/api/v1/pods": "Pod"}[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":%q,"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", kind)
		w.(http.Flusher).Flush()
		began <- kind + r.URL.Query().Get("fieldSelector")
		<-r.Context().Done()
		ended <- kind
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	next := func(from chan string) string {
		t.Helper()
		var got []string
		for range 2 {
			select {
			case one := <-from:
				got = append(got, one)
			case <-time.After(time.Minute):
				t.Fatalf("only %v after a minute", got)
			}
		}
		if strings.HasPrefix(got[0], "Pod") {
			got[0], got[1] = got[1], got[0]
		}
		return strings.Join(got, " ")
	}
	const both = "Node Podspec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	rooms := New(client)
	changed := make(chan struct{}, 100)
	rooms.Follow(func() { changed <- struct{}{} })
	rooms.Need("a", true)
	go func() { _ = rooms.Start(ctx) }()
	if got := next(began); got != both {
		t.Errorf("watches %s", got)
	}
	<-changed
	<-changed // Both are known, and nothing is there.
	if nodes, known := rooms.Nodes(); !known || len(nodes) > 0 {
		t.Errorf("%v, known: %v", nodes, known)
	}
	rooms.Need("b", true)
	rooms.Need("a", false)
	if len(began)+len(ended) > 0 || len(rooms.NeededBy()) != 1 {
		t.Errorf("%v needs it: %d more watches, and %d have ended", rooms.NeededBy(), len(began), len(ended))
	}
	rooms.Need("b", false)
	next(ended)
	if _, known := rooms.Nodes(); known {
		t.Error("it is known although nobody needs it")
	}
	rooms.Need("b", true)
	if got := next(began); got != both {
		t.Errorf("watches %s", got)
	}
	stop()
	next(ended)
}
