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

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/gke"
)

// scope is the scope of GKE's API. Google's IAM decides what it allows.
const scope = "https://www.googleapis.com/auth/cloud-platform"

func (d *Dialer) gke(
	ctx context.Context, cluster v1alpha1.GKEConfig, with v1alpha1.Credentials, secret *corev1.Secret, through *http.Client,
) (cloud.Client, error) {
	// The tokens outlive this reconcile, so its allowance must not limit them.
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
	id := gke.Cluster{Project: cluster.ProjectID, Location: *location, Name: cluster.ClusterName}
	return ofGKE{
		&gke.Client{
			HTTP:     &http.Client{Transport: &oauth2.Transport{Base: through.Transport, Source: tokens}, Timeout: through.Timeout, CheckRedirect: through.CheckRedirect},
			Endpoint: endpoint, Cluster: id,
		},
		&gke.Access{Tokens: tokens, HTTP: through, Endpoint: endpoint, Cluster: id},
	}, nil
}

// ofGKE combines the client of a cluster with the access to its API server.
type ofGKE struct {
	*gke.Client
	*gke.Access
}

// ofGoogle returns a source of tokens. The key in the Secret must belong to a service account, because other
// kinds of credentials may read files or run programs. Without a Secret, the tokens are for the operator's
// own identity, or for a service account that it may impersonate.
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
