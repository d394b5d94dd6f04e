package gke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

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
	// Location is a region or a zone.
	Project, Location, Cluster string
}

var _ cloud.Client = &Client{}

// Table returns the table of the fields and calls of GKE.
func (c *Client) Table() *merge.Table { return Table }

// Idempotent returns false: GKE has no request tokens.
func (c *Client) Idempotent() bool { return false }

func itemPath(pool string) string { return fmt.Sprintf("nodePools[%q]", pool) }

// location returns a path below the project's location.
func (c *Client) location(path ...string) string {
	out := "/v1/projects/" + url.PathEscape(c.Project) + "/locations/" + url.PathEscape(c.Location)
	for _, part := range path {
		out += "/" + url.PathEscape(part)
	}
	return out
}

func (c *Client) cluster() string { return c.location("clusters", c.Cluster) }

func (c *Client) pool(name string) string {
	return c.location("clusters", c.Cluster, "nodePools", name)
}

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

// wrap adds to an error what was attempted, and its kind.
func (c *Client) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	wrapped := &cloud.Error{Doing: fmt.Sprintf("%s of the GKE cluster %s in %s", what, c.Cluster, c.Location), Message: err.Error(), Cause: err}
	var answer *googleapi.Error
	var noToken *oauth2.RetrieveError
	switch {
	case errors.As(err, &answer):
		wrapped.Kind, wrapped.Message = kindOf(answer), answer.Message
	case errors.As(err, &noToken) && noToken.Response != nil && noToken.Response.StatusCode < http.StatusInternalServerError:
		wrapped.Kind, wrapped.Message = cloud.ErrCredentials, noToken.ErrorCode+": "+noToken.ErrorDescription
	}
	return wrapped
}

// kinds maps the HTTP status of an answer to a kind of error. GKE answers with a conflict if the etag is out
// of date, or if what should be created exists already.
var kinds = map[int]error{
	http.StatusBadRequest:         cloud.ErrRefused,
	http.StatusUnauthorized:       cloud.ErrCredentials,
	http.StatusForbidden:          cloud.ErrForbidden,
	http.StatusConflict:           cloud.ErrBusy,
	http.StatusPreconditionFailed: cloud.ErrBusy,
	http.StatusTooManyRequests:    cloud.ErrThrottled,
}

// kindOf returns the kind of an error. While an operation runs, GKE refuses another one as a bad request.
func kindOf(answer *googleapi.Error) error {
	if strings.Contains(answer.Body, "CLUSTER_ALREADY_HAS_OPERATION") || strings.Contains(answer.Body, "incompatible operation") {
		return cloud.ErrBusy
	}
	return kinds[answer.Code]
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
