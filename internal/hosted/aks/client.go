package aks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// apiVersion is the first that has an etag of a cluster and of each of its pools, and
// refuses a request by them.
const apiVersion = "2026-05-01"

// Client reads and changes one cluster. It holds nothing but the credentials in its
// pipeline, so each cluster has one of its own.
type Client struct {
	Pipeline runtime.Pipeline
	// Endpoint is that of the Azure Resource Manager.
	Endpoint                             string
	Subscription, ResourceGroup, Cluster string
}

func itemPath(pool string) string { return fmt.Sprintf("nodePools[%q]", pool) }

func (c *Client) url(path ...string) string {
	return runtime.JoinPaths(c.Endpoint, "subscriptions", url.PathEscape(c.Subscription), "resourceGroups", url.PathEscape(c.ResourceGroup),
		"providers/Microsoft.ContainerService/managedClusters", url.PathEscape(c.Cluster), runtime.JoinPaths("", path...)) + "?api-version=" + apiVersion
}

// do sends a request, with a body and a header if there are any, and reads the answer into
// out, unless that is nil.
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

// wrap says what was done, and what the cloud's answer means.
func (c *Client) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	var answer *azcore.ResponseError
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusPreconditionFailed || answer.StatusCode == http.StatusConflict) {
		err = errors.Join(cloud.ErrBusy, err)
	}
	return fmt.Errorf("%s of the AKS cluster %s in %s: %w", what, c.Cluster, c.ResourceGroup, err)
}

func notFound(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}
