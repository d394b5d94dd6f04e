package aks

import (
	"context"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// Create is refused: clusters that exist are adopted.
func (c *Client) Create(context.Context, map[string]any, string) error {
	return c.wrap(cloud.ErrUnsupported, "creating")
}

// Delete is refused.
func (c *Client) Delete(context.Context, cloud.Reading, string) error {
	return c.wrap(cloud.ErrUnsupported, "deleting")
}
