// Package aks is the client of Azure Kubernetes Service.
package aks

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/spillway-io/spillway/hosted/clouds/akstable"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Table describes the clusters of AKS.
var Table = akstable.Table

// apiVersion is the first version in which a cluster and each of its pools have an etag, and in which AKS
// refuses a request whose etag is out of date.
const apiVersion = "2026-05-01"

// Client reads and changes one cluster. Its only state is the credentials in its pipeline, so each cluster has
// its own Client.
type Client struct {
	Pipeline runtime.Pipeline
	// Endpoint is the URL of the Azure Resource Manager.
	Endpoint string
	Cluster
	// Credential is the identity that the pipeline uses. Connection needs it for clusters with Microsoft Entra ID;
	// nothing else does.
	Credential azcore.TokenCredential
}

var _ cloud.Client = &Client{}

// Table returns the table of the fields and calls of AKS.
func (c *Client) Table() *merge.Table { return Table }

// Idempotent returns false: AKS has no request tokens.
func (c *Client) Idempotent() bool { return false }

func itemPath(pool string) string { return fmt.Sprintf("nodePools[%q]", pool) }

func (c *Client) url(path ...string) string {
	return runtime.JoinPaths(c.Endpoint, "subscriptions", url.PathEscape(c.Subscription), "resourceGroups", url.PathEscape(c.ResourceGroup),
		"providers/Microsoft.ContainerService/managedClusters", url.PathEscape(c.Name), runtime.JoinPaths("", path...)) + "?api-version=" + apiVersion
}

// do sends a request and decodes the answer into out, unless out is nil. body and header are optional.
func (c *Client) do(ctx context.Context, method, target string, body any, header, value string, out any) error {
	if header != "" {
		// This request changes something, because only such requests are conditional. The library must not repeat it.
		// If the first one was carried out and its answer was lost, Azure refuses the second, and that would count as a
		// refusal of both.
		ctx = policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
	}
	request, err := runtime.NewRequest(ctx, method, target)
	if err != nil {
		return err
	}
	request.Raw().Header.Set("Accept", "application/json")
	if header != "" {
		request.Raw().Header.Set(header, value)
	}
	if body != nil {
		if err := runtime.MarshalAsJSON(request, body); err != nil {
			return err
		}
	}
	response, err := c.Pipeline.Do(request) //nolint:bodyclose // Each way to go on from here reads it to its end, and closes it.
	if err != nil {
		return err
	}
	if !runtime.HasStatusCode(response, http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent) {
		return runtime.NewResponseError(response)
	}
	if out == nil {
		runtime.Drain(response)
		return nil
	}
	return runtime.UnmarshalAsJSON(response, out)
}
