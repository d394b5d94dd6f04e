package aks

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

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

// OperationIDs returns nothing: AKS keeps no list of operations.
func (c *Client) OperationIDs(context.Context, string) ([]string, error) { return nil, nil }

// Operation returns an error: AKS keeps no operations.
func (c *Client) Operation(_ context.Context, _, id string) (cloud.Operation, error) {
	return cloud.Operation{}, c.wrap(cloud.ErrUnsupported, "reading the operation "+id)
}

func itemPath(pool string) string { return fmt.Sprintf("nodePools[%q]", pool) }

func (c *Client) url(path ...string) string {
	return runtime.JoinPaths(c.Endpoint, "subscriptions", url.PathEscape(c.Subscription), "resourceGroups", url.PathEscape(c.ResourceGroup),
		"providers/Microsoft.ContainerService/managedClusters", url.PathEscape(c.Name), runtime.JoinPaths("", path...)) + "?api-version=" + apiVersion
}

// do sends a request and decodes the answer into out, unless out is nil. body and header are optional.
func (c *Client) do(ctx context.Context, method, target string, body any, header, value string, out any) error {
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
