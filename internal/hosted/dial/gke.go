package dial

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/impersonate"
	"google.golang.org/api/option"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
	"github.com/spillway-io/spillway/internal/hosted/gke"
)

// scope is that of GKE's API; what may be done with it is up to Google's IAM.
const scope = "https://www.googleapis.com/auth/cloud-platform"

func (d *Dialer) gke(
	ctx context.Context, cluster v1alpha1.GKEConfig, with v1alpha1.Credentials, secret *corev1.Secret, through *http.Client,
) (cloud.Client, error) {
	// Tokens are renewed for as long as the client is there, with nobody's allowance.
	ctx = context.WithValue(cloud.WithoutAllowance(context.WithoutCancel(ctx)), oauth2.HTTPClient, through)
	tokens, err := ofGoogle(ctx, with, secret)
	if err != nil {
		return nil, err
	}
	location := cluster.Region
	if location == nil {
		location = cluster.Zone
	}
	endpoint := cmp.Or(d.GKE, "https://container.googleapis.com")
	return ofGKE{
		&gke.Client{
			HTTP:     &http.Client{Transport: &oauth2.Transport{Base: through.Transport, Source: tokens}, Timeout: through.Timeout, CheckRedirect: through.CheckRedirect},
			Endpoint: endpoint, Project: cluster.ProjectID, Location: *location, Cluster: cluster.ClusterName,
		},
		&gke.Access{Tokens: tokens, HTTP: through, Endpoint: endpoint, Project: cluster.ProjectID, Location: *location, Cluster: cluster.ClusterName},
	}, nil
}

// ofGKE is the client of a cluster, and the way into it.
type ofGKE struct {
	*gke.Client
	*gke.Access
}

// ofGoogle gives tokens of the service account whose key the Secret has: no other kind of
// credentials, of which some read files or run programs; or of the operator's own identity,
// or of a service account that it may impersonate.
func ofGoogle(ctx context.Context, with v1alpha1.Credentials, secret *corev1.Secret) (oauth2.TokenSource, error) {
	if with.WorkloadIdentity == nil {
		values, err := keys(with, secret, "credentials.json")
		if err != nil {
			return nil, err
		}
		account, err := google.JWTConfigFromJSON([]byte(values["credentials.json"]), scope)
		if err != nil {
			return nil, fmt.Errorf("%w: its key credentials.json is not that of a Google service account: %w", ErrSecret, err)
		}
		return account.TokenSource(ctx), nil
	}
	own, err := google.FindDefaultCredentials(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("finding the operator's own identity in Google Cloud: %w: %w", cloud.ErrCredentials, err)
	}
	if account := with.WorkloadIdentity.Identity; account != "" {
		return impersonate.CredentialsTokenSource(ctx, impersonate.CredentialsConfig{TargetPrincipal: account, Scopes: []string{scope}},
			option.WithTokenSource(own.TokenSource))
	}
	return own.TokenSource, nil
}
