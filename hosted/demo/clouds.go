package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"

	"sigs.k8s.io/yaml"

	hosted "github.com/spillway-io/spillway/hosted/test"
)

// clouds are the three clouds, with one cluster each, and the server that issues tokens.
type clouds struct {
	eks *hosted.EKS
	aks *hosted.AKS
	gke *hosted.GKE

	eksServer, aksServer, gkeServer, tokens *httptest.Server
	// full says that the account may have no more node groups in EKS.
	full atomic.Bool
}

const (
	inEKS = `
name: shop
arn: "arn:aws:eks:eu-central-1:1:cluster/shop"
status: ACTIVE
createdAt: 1767225600
version: "1.33"
roleArn: "arn:aws:iam::1:role/eks"
resourcesVpcConfig: {endpointPublicAccess: true, endpointPrivateAccess: true, publicAccessCidrs: [10.0.0.0/8], subnetIds: [s1, s2]}
logging: {clusterLogging: [{types: [api, audit], enabled: true}]}
tags: {owner: shop, cost: "7"}`
	groupInEKS = `
nodegroupName: workers
nodegroupArn: "arn:aws:eks:eu-central-1:1:nodegroup/shop/workers/1"
status: ACTIVE
version: "1.33"
scalingConfig: {desiredSize: 2, minSize: 1, maxSize: 5}
instanceTypes: [m7g.large]
labels: {tier: web}
tags: {}
nodeRole: "arn:aws:iam::1:role/node"
subnets: [s1]`
	inAKS = `
id: /subscriptions/sub/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/shop
location: westeurope
tags: {owner: shop, cost: "7"}
identity: {type: SystemAssigned}
properties:
  resourceUID: 65f0
  provisioningState: Succeeded
  kubernetesVersion: 1.33.2
  dnsPrefix: shop
  apiServerAccessProfile: {authorizedIPRanges: [10.0.0.0/8]}`
	poolInAKS = `
id: /subscriptions/sub/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/shop/agentPools/system
name: system
properties: {provisioningState: Succeeded, count: 2, mode: System, vmSize: Standard_D4s_v5, orchestratorVersion: 1.33.2}`
	inGKE = `
name: shop
id: 6f1c
status: RUNNING
location: europe-west3
currentMasterVersion: 1.33.2-gke.100
resourceLabels: {owner: shop, cost: "7"}
locations: [europe-west3-a, europe-west3-b]
nodePools:
- name: workers
  status: RUNNING
  version: 1.33.2-gke.100
  initialNodeCount: 2
  management: {autoRepair: true, autoUpgrade: true}
  config: {machineType: e2-standard-4, labels: {tier: web}}`
)

func (d *demo) startClouds(ctx context.Context) error {
	api, err := hosted.APIOfGKE(ctx)
	if err != nil {
		return err
	}
	of := map[string]map[string]any{}
	for _, text := range []string{inEKS, groupInEKS, inAKS, poolInAKS, inGKE} {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
			return err
		}
		of[text] = object
	}
	c := &d.clouds
	c.eks, c.aks = hosted.NewEKS(of[inEKS], of[groupInEKS]), hosted.NewAKS(of[inAKS], of[poolInAKS])
	if c.gke, err = hosted.NewGKE(api, of[inGKE]); err != nil {
		return err
	}
	c.eksServer, c.aksServer, c.gkeServer = httptest.NewTLSServer(http.HandlerFunc(c.serveEKS)), httptest.NewTLSServer(c.aks), httptest.NewTLSServer(c.gke)
	c.tokens = httptest.NewTLSServer(http.HandlerFunc(c.giveTokens))
	d.say("three clouds answer: EKS at %s, AKS at %s, GKE at %s", c.eksServer.URL, c.aksServer.URL, c.gkeServer.URL)
	// All clouds have the same certificate.
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.eksServer.Certificate().Raw})
	return os.WriteFile(d.certificate(), certificate, 0o600)
}

// serveEKS refuses new node groups if the account may have no more.
func (c *clouds) serveEKS(w http.ResponseWriter, r *http.Request) {
	if c.full.Load() && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/node-groups") {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Amzn-Errortype", "ResourceLimitExceededException")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"message":"Nodegroups per cluster: the quota of 1 is reached"}`)
		return
	}
	c.eks.ServeHTTP(w, r)
}

// giveTokens is the endpoint where Azure and Google issue tokens for credentials. It accepts any credentials.
func (c *clouds) giveTokens(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		base := c.tokens.URL + "/tenant"
		fmt.Fprintf(w, `{"token_endpoint":%q,"authorization_endpoint":%q,"issuer":%q}`, base+"/oauth2/v2.0/token", base+"/oauth2/v2.0/authorize", base+"/v2.0")
		return
	}
	fmt.Fprint(w, `{"token_type":"Bearer","expires_in":3600,"access_token":"demo"}`)
}

func (c *clouds) stop() {
	for _, server := range []*httptest.Server{c.eksServer, c.aksServer, c.gkeServer, c.tokens} {
		if server != nil {
			server.CloseClientConnections()
			server.Close()
		}
	}
}
