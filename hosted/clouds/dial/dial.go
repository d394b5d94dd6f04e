// Package dial creates the clients of hosted clusters.
//
// Each HostedCluster has its own client, made for its credentials and its cluster, and immutable afterwards.
// So no request for one cluster carries the credentials of another, however many are worked on at a time. A
// client is replaced once the spec's credentials, the cluster's name or the Secret have changed. Clusters
// with the same credentials share only the limit on their requests.
package dial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// ErrSecret: the Secret does not exist, or lacks a key.
var ErrSecret = errors.New("the Secret cannot be used")

// The clouds that limit requests allow tens of them per second.
const (
	requestsPerSecond = 10
	burst             = 50
)

// timeout limits the time of one request and its answer, because a worker waits for it.
const timeout = time.Minute

// Dialer creates clients, and keeps them. The zero value sends requests to the clouds' own endpoints.
type Dialer struct {
	// Transport sends the requests. Default: http.DefaultTransport.
	Transport http.RoundTripper
	// EKS, EC2, AKS, Entra and GKE replace the clouds' own endpoints.
	EKS, EC2, AKS, Entra, GKE string
	// Once disables the retries of the clouds' libraries.
	Once bool
	// Limit and Burst limit the requests with the same credentials. Default: 10 per second, and 50 at once.
	Limit rate.Limit
	Burst int

	lock    sync.Mutex
	clients map[types.UID]entry
	limits  map[string]*rate.Limiter
}

type entry struct {
	client cloud.Client
	// from is the fingerprint of what the client was made from.
	from string
}

// Client returns the client of a cluster. secret is the Secret that the spec names, or nil. The error is
// ErrSecret, or an answer of the cloud.
func (d *Dialer) Client(ctx context.Context, h *v1alpha1.HostedCluster, secret *corev1.Secret) (cloud.Client, error) {
	from, err := fingerprint(h, secret)
	if err != nil {
		return nil, err
	}
	d.lock.Lock()
	known, limit := d.clients[h.UID], d.limit(h)
	d.lock.Unlock()
	if known.client != nil && known.from == from {
		return known.client, nil
	}
	client, err := d.dial(ctx, h, secret, &http.Client{Transport: limited{d.transport(), limit}, Timeout: timeout, CheckRedirect: noRedirect})
	if err != nil {
		return nil, err
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.clients == nil {
		d.clients = map[types.UID]entry{}
	}
	d.clients[h.UID] = entry{client, from}
	return client, nil
}

// Forget drops the client of a cluster.
func (d *Dialer) Forget(uid types.UID) {
	d.lock.Lock()
	defer d.lock.Unlock()
	delete(d.clients, uid)
}

func (d *Dialer) dial(ctx context.Context, h *v1alpha1.HostedCluster, secret *corev1.Secret, through *http.Client) (cloud.Client, error) {
	switch spec := h.Spec; {
	case spec.EKSConfig != nil:
		return d.eks(ctx, *spec.EKSConfig, spec.Credentials, secret, through)
	case spec.AKSConfig != nil:
		return d.aks(*spec.AKSConfig, spec.Credentials, secret, through)
	default:
		return d.gke(ctx, *spec.GKEConfig, spec.Credentials, secret, through)
	}
}

func (d *Dialer) transport() http.RoundTripper {
	if d.Transport != nil {
		return d.Transport
	}
	return http.DefaultTransport
}

// fingerprint covers everything that a client is made from.
func fingerprint(h *v1alpha1.HostedCluster, secret *corev1.Secret) (string, error) {
	from := map[string]any{"credentials": h.Spec.Credentials}
	if secret != nil {
		from["secret"] = []string{string(secret.UID), secret.ResourceVersion}
	}
	switch spec := h.Spec; {
	case spec.EKSConfig != nil:
		from["cluster"] = []string{"EKS", spec.EKSConfig.Region, spec.EKSConfig.DisplayName}
	case spec.AKSConfig != nil:
		from["cluster"] = []string{"AKS", spec.AKSConfig.ResourceGroup, spec.AKSConfig.ClusterName}
	case spec.GKEConfig != nil:
		from["cluster"] = []any{"GKE", spec.GKEConfig.ProjectID, spec.GKEConfig.Region, spec.GKEConfig.Zone, spec.GKEConfig.ClusterName}
	}
	text, err := json.Marshal(from)
	return string(text), err
}

// limit returns the limiter of a cluster's credentials.
func (d *Dialer) limit(h *v1alpha1.HostedCluster) *rate.Limiter {
	credentials := h.Spec.Credentials
	key := "Secret " + secretName(credentials)
	if identity := credentials.WorkloadIdentity; identity != nil {
		key = fmt.Sprint("identity ", *identity, h.Spec.EKSConfig != nil, h.Spec.AKSConfig != nil)
	}
	if d.limits[key] == nil {
		if d.limits == nil {
			d.limits = map[string]*rate.Limiter{}
		}
		limit, burst := rate.Limit(requestsPerSecond), burst
		if d.Limit > 0 {
			limit, burst = d.Limit, d.Burst
		}
		d.limits[key] = rate.NewLimiter(limit, burst)
	}
	return d.limits[key]
}

func secretName(credentials v1alpha1.Credentials) string {
	if credentials.SecretRef == nil {
		return ""
	}
	return credentials.SecretRef.Name
}

// keys returns values of a Secret, or an error if one is missing.
func keys(credentials v1alpha1.Credentials, secret *corev1.Secret, names ...string) (map[string]string, error) {
	if secret == nil {
		return nil, fmt.Errorf("%w: there is no Secret %s in the operator's namespace", ErrSecret, secretName(credentials))
	}
	values := map[string]string{}
	for _, name := range names {
		values[name] = string(secret.Data[name])
		if values[name] == "" {
			return nil, fmt.Errorf("%w: the Secret %s has no key %s", ErrSecret, secret.Name, name)
		}
	}
	return values, nil
}
