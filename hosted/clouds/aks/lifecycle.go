package aks

import (
	"context"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Create requests the cluster with its pools. It does nothing if the cluster exists.
func (c *Client) Create(ctx context.Context, config map[string]any, _ string) error {
	raw, err := c.newCluster(cloud.Set(config))
	if err == nil {
		err = c.do(ctx, http.MethodPut, c.url(), raw, "If-None-Match", "*", nil)
	}
	var answer *azcore.ResponseError
	if errors.As(err, &answer) && answer.StatusCode == http.StatusPreconditionFailed {
		return nil
	}
	return c.wrap(err, "creating")
}

// Delete deletes the cluster with its pools, if it still has the version that was read.
func (c *Client) Delete(ctx context.Context, reading cloud.Reading, _ string) error {
	if cloud.Text(reading.Raw[""], "properties.provisioningState") == "Deleting" {
		return nil
	}
	version := reading.Versions[""]
	if version == "" {
		return c.wrap(cloud.ErrNoVersion, "deleting")
	}
	err := c.do(ctx, http.MethodDelete, c.url(), nil, "If-Match", version, nil)
	if c.notFound(err) {
		return nil
	}
	return c.wrap(err, "deleting")
}
