// Package gke is the client of Google Kubernetes Engine.
package gke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/gketable"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Table describes the clusters of GKE.
var Table = gketable.Table

// Client reads and changes one cluster. Its only state is the credentials in its HTTP client, so each cluster
// has its own Client.
//
// It sends parts of what it has read, with changes. So it keeps both as JSON: the types of Google's library
// would drop fields of a later version of GKE.
type Client struct {
	// HTTP adds the credentials. google.golang.org/api/transport/http can create it.
	HTTP *http.Client
	// Endpoint is https://container.googleapis.com, except in tests.
	Endpoint string
	Cluster
}

var _ cloud.Client = &Client{}

// Table returns the table of the fields and calls of GKE.
func (c *Client) Table() *merge.Table { return Table }

// Idempotent returns false: GKE has no request tokens.
func (c *Client) Idempotent() bool { return false }

func itemPath(pool string) string { return fmt.Sprintf("nodePools[%q]", pool) }

// do sends a request and returns the answer. body is optional.
func (c *Client) do(ctx context.Context, method, path string, body map[string]any) (map[string]any, error) {
	var reader io.Reader
	if body != nil {
		text, err := googleapi.WithoutDataWrapper.JSONReader(body)
		if err != nil {
			return nil, err
		}
		reader = text
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Endpoint, "/")+path, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if err := googleapi.CheckResponse(response); err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return nil, fmt.Errorf("the answer of GKE: %w", err)
	}
	return out, nil
}

// notFound reports whether Google says that it does not have a resource, such as clusters/shop. Any other 404
// says nothing about the resource. A wrong project or location causes one, and so may a proxy.
func notFound(err error, thing string) bool {
	var answer *googleapi.Error
	if !errors.As(err, &answer) || answer.Code != http.StatusNotFound {
		return false
	}
	var body struct {
		Error struct {
			Status string `json:"status"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(answer.Body), &body) != nil || body.Error.Status != "NOT_FOUND" {
		return false
	}
	_, after, named := strings.Cut(answer.Message+" ", "/"+thing)
	return named && !strings.ContainsAny(after[:1], nameOfGoogle)
}

// nameOfGoogle lists the characters that may follow within a name or a path.
const nameOfGoogle = "abcdefghijklmnopqrstuvwxyz0123456789-/"
