package gke

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Access gives access to the API server of one cluster, with Google's tokens of the scope
// https://www.googleapis.com/auth/cloud-platform.
type Access struct {
	Tokens oauth2.TokenSource
	// HTTP sends the requests. It adds no credentials itself.
	HTTP *http.Client
	// Endpoint is https://container.googleapis.com, except in tests.
	Endpoint string
	Cluster
}

// Connection asks GKE for the cluster's address, in one request. The cluster accepts the token of that
// request, too.
func (a *Access) Connection(ctx context.Context) (cloud.Connection, error) {
	token, err := a.Tokens.Token()
	if err != nil {
		return cloud.Connection{}, a.wrap(fmt.Errorf("asking for a token: %w", err))
	}
	target := strings.TrimSuffix(a.Endpoint, "/") + a.cluster()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return cloud.Connection{}, a.wrap(err)
	}
	token.SetAuthHeader(request)
	response, err := a.HTTP.Do(request)
	if err != nil {
		return cloud.Connection{}, a.wrap(err)
	}
	defer func() { _ = response.Body.Close() }()
	err = googleapi.CheckResponse(response)
	switch {
	case notFound(err, "clusters/"+a.Name):
		return cloud.Connection{}, a.wrap(cloud.ErrNotFound)
	case err != nil:
		return cloud.Connection{}, a.wrap(fmt.Errorf("GKE answers %s", response.Status))
	}
	var cluster struct {
		Endpoint   string `json:"endpoint"`
		MasterAuth struct {
			CA []byte `json:"clusterCaCertificate"`
		} `json:"masterAuth"`
	}
	if err := json.NewDecoder(response.Body).Decode(&cluster); err != nil {
		return cloud.Connection{}, a.wrap(fmt.Errorf("the answer of GKE: %w", err))
	}
	if cluster.Endpoint == "" {
		return cloud.Connection{}, a.wrap(fmt.Errorf("it has no address yet"))
	}
	host := cluster.Endpoint
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	return cloud.Connection{Host: "https://" + host, CA: cluster.MasterAuth.CA, Token: token.AccessToken}, nil
}

func (a *Access) wrap(err error) error {
	return fmt.Errorf("asking for access to the GKE cluster %s in %s: %w", a.Name, a.Location, err)
}
