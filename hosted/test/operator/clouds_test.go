package operator_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/clouds/dial"
	hosted "github.com/spillway-io/spillway/hosted/test"
)

type object = map[string]any

const (
	eksCluster = `
name: %[1]s
arn: "arn:cluster/%[1]s"
status: ACTIVE
createdAt: 1800000000
version: "1.32"
resourcesVpcConfig: {endpointPublicAccess: true, endpointPrivateAccess: true, publicAccessCidrs: [10.0.0.0/8]}
logging: {clusterLogging: [{types: [api], enabled: true}]}
tags: {owner: shop, cost: "7"}`
	eksGroup = `
nodegroupName: a
nodegroupArn: "arn:group/%[1]s/a"
status: ACTIVE
version: "1.32"
scalingConfig: {desiredSize: 2, minSize: 1, maxSize: 3}
labels: {tier: web}
tags: {}`
	aksCluster = `
id: /subscriptions/sub/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/%[1]s
location: westeurope
tags: {owner: shop, cost: "7"}
properties:
  resourceUID: uid-1
  provisioningState: Succeeded
  kubernetesVersion: 1.32.4
  apiServerAccessProfile: {authorizedIPRanges: [10.0.0.0/8]}`
	aksPool = `
id: /pools/a
name: a
properties: {provisioningState: Succeeded, count: 2, mode: System, orchestratorVersion: 1.32.4}`
	gkeCluster = `
name: %[1]s
id: uid-1
status: RUNNING
location: europe-west3
currentMasterVersion: 1.32.4-gke.100
resourceLabels: {owner: shop, cost: "7"}
nodePools: [{name: a, status: RUNNING, version: 1.32.4-gke.100, initialNodeCount: 2}]`
)

func parse(t *testing.T, text string, args ...any) object {
	t.Helper()
	var out object
	if err := yaml.UnmarshalStrict(fmt.Appendf(nil, text, args...), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// clouds are EKS, AKS and GKE with any number of clusters, and the token servers of the last two.
type clouds struct {
	eks, aks, gke, entra, google *httptest.Server

	lock sync.Mutex
	eksS map[string]*hosted.EKS
	aksS map[string]*hosted.AKS
	gkeS map[string]*hosted.GKE
	// requests counts all requests, and changes those that should change something.
	requests, changes int
	// before is called with the credentials of each request to EKS, and its cluster.
	before func(r *http.Request, cluster, accessKey string) (code string)
}

var (
	nameInEKS = regexp.MustCompile(`^/(?:clusters/|tags/arn:(?:cluster|group)/)([^/]+)`)
	nameInAKS = regexp.MustCompile(`/managedClusters/([^/]+)`)
	nameInGKE = regexp.MustCompile(`/clusters/([^/:]+)`)
	accessKey = regexp.MustCompile(`Credential=([^/]+)/`)
)

func newClouds(t *testing.T) *clouds {
	t.Helper()
	c := &clouds{eksS: map[string]*hosted.EKS{}, aksS: map[string]*hosted.AKS{}, gkeS: map[string]*hosted.GKE{}}
	c.eks, c.aks, c.entra = httptest.NewTLSServer(http.HandlerFunc(c.serveEKS)), httptest.NewTLSServer(http.HandlerFunc(c.serveAKS)), httptest.NewTLSServer(http.HandlerFunc(c.serveEntra))
	c.gke, c.google = httptest.NewTLSServer(http.HandlerFunc(c.serveGKE)), httptest.NewTLSServer(http.HandlerFunc(c.serveGoogle))
	for _, server := range []*httptest.Server{c.eks, c.aks, c.gke, c.entra, c.google} {
		t.Cleanup(server.Close)
	}
	return c
}

// dialer is the product's own.
func (c *clouds) dialer() *dial.Dialer {
	return &dial.Dialer{
		// All test servers have the same certificate.
		Transport: c.eks.Client().Transport, EKS: c.eks.URL, EC2: c.eks.URL, AKS: c.aks.URL, Entra: c.entra.URL, GKE: c.gke.URL, Once: true, Limit: 1e6, Burst: 1e6,
	}
}

func (c *clouds) count(r *http.Request) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.requests++
	if r.Method != http.MethodGet {
		c.changes++
	}
}

func (c *clouds) counts() (requests, changes int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.requests, c.changes
}

func (c *clouds) serveEKS(w http.ResponseWriter, r *http.Request) {
	c.count(r)
	name, key := "", ""
	if m := nameInEKS.FindStringSubmatch(r.URL.Path); m != nil {
		name = m[1]
	}
	if m := accessKey.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		key = m[1]
	}
	if name == "" {
		// Requests to EC2, and those that create a cluster, have no name in the path.
		name = strings.TrimPrefix(key, "key-of-")
	}
	c.lock.Lock()
	before, cluster := c.before, c.eksS[name]
	c.lock.Unlock()
	if before != nil {
		if code := before(r, name, key); code != "" {
			w.Header().Set("X-Amzn-Errortype", code)
			w.Header().Set("X-Amzn-Requestid", fmt.Sprint(time.Now().UnixNano()))
			w.WriteHeader(map[string]int{"ThrottlingException": 429}[code] + 403*btoi(code != "ThrottlingException"))
			fmt.Fprintf(w, `{"message":"User: arn:user/x is not authorized to perform: eks:DescribeCluster"}`)
			return
		}
	}
	if cluster == nil {
		w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message":"No cluster found"}`)
		return
	}
	cluster.ServeHTTP(w, r)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *clouds) serveAKS(w http.ResponseWriter, r *http.Request) {
	c.count(r)
	name := ""
	if m := nameInAKS.FindStringSubmatch(r.URL.Path); m != nil {
		name = m[1]
	}
	c.lock.Lock()
	cluster := c.aksS[name]
	c.lock.Unlock()
	if cluster == nil || r.Header.Get("Authorization") != "Bearer token-of-secret-"+name {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":"InvalidAuthenticationToken","message":"no"}}`)
		return
	}
	cluster.ServeHTTP(w, r)
}

// serveGKE accepts the token of the cluster's own account. A list of operations names no cluster, so the
// account selects it.
func (c *clouds) serveGKE(w http.ResponseWriter, r *http.Request) {
	c.count(r)
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
	if m := nameInGKE.FindStringSubmatch(r.URL.Path); m != nil && m[1] != name {
		name = ""
	}
	c.lock.Lock()
	cluster := c.gkeS[name]
	c.lock.Unlock()
	if cluster == nil {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"no"}}`)
		return
	}
	cluster.ServeHTTP(w, r)
}

// serveGoogle returns a token for what an account has signed.
func (c *clouds) serveGoogle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	claims := struct {
		Account string `json:"iss"`
	}{}
	if parts := strings.Split(r.FormValue("assertion"), "."); len(parts) == 3 {
		if text, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
			err = json.Unmarshal(text, &claims)
			if err != nil {
				claims.Account = ""
			}
		}
	}
	if claims.Account == "" || strings.HasPrefix(claims.Account, "wrong") {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
		return
	}
	fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3600,"access_token":%q}`, "token-of-"+claims.Account)
}

// serveEntra returns a token for each secret.
func (c *clouds) serveEntra(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	tenant := strings.Split(strings.Trim(r.URL.Path, "/"), "/")[0]
	if r.Method == http.MethodGet {
		base := c.entra.URL + "/" + tenant
		fmt.Fprintf(w, `{"token_endpoint":%q,"authorization_endpoint":%q,"issuer":%q}`, base+"/oauth2/v2.0/token", base+"/oauth2/v2.0/authorize", base+"/v2.0")
		return
	}
	secret := r.FormValue("client_secret")
	if strings.HasPrefix(secret, "wrong") {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided. Trace ID: 1","error_codes":[7000215]}`)
		return
	}
	fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3600,"access_token":%q}`, "token-of-"+secret)
}

func (c *clouds) addEKS(t *testing.T, name string) *hosted.EKS {
	t.Helper()
	c.lock.Lock()
	defer c.lock.Unlock()
	c.eksS[name] = hosted.NewEKS(parse(t, eksCluster, name), parse(t, eksGroup, name))
	return c.eksS[name]
}

// remove removes a cluster of EKS.
func (c *clouds) remove(name string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.eksS, name)
}

func (c *clouds) addAKS(t *testing.T, name string) *hosted.AKS {
	t.Helper()
	c.lock.Lock()
	defer c.lock.Unlock()
	c.aksS[name] = hosted.NewAKS(parse(t, aksCluster, name), parse(t, aksPool))
	return c.aksS[name]
}

func (c *clouds) addGKE(t *testing.T, name string) *hosted.GKE {
	t.Helper()
	api, err := apiOfGKE()
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := hosted.NewGKE(api, parse(t, gkeCluster, name))
	if err != nil {
		t.Fatal(err)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.gkeS[name] = cluster
	return cluster
}

// apiOfGKE is Google's description of the API.
var apiOfGKE = sync.OnceValues(func() ([]byte, error) { return hosted.APIOfGKE(context.Background()) })

// googleKey signs for all accounts.
var googleKey = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
})

// account returns the key of a Google service account.
func (c *clouds) account(t *testing.T, name string) string {
	t.Helper()
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": name, "private_key": googleKey(), "private_key_id": "1", "token_uri": c.google.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
