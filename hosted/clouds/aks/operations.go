package aks

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// latest is our name of the latest operation of a cluster or a pool. AKS shows how that one ended in the object.
// Reading an operation by Azure's own name would need another right.
const latest = "latest"

// OperationIDs returns nothing: AKS keeps no list of operations.
func (c *Client) OperationIDs(context.Context, string) ([]string, error) { return nil, nil }

// Operation describes the latest operation of the cluster or of a pool. AKS works on one at a time, and refuses
// others meanwhile. So after a request was accepted, the latest operation is ours, or a later one.
func (c *Client) Operation(ctx context.Context, item, id string) (cloud.Operation, error) {
	what, target := "the cluster", c.url()
	if item != "" {
		pool, err := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(item, "nodePools["), "]"))
		if err != nil {
			return cloud.Operation{}, c.wrap(err, "reading "+item)
		}
		what, target = "the node pool "+pool, c.url("agentPools", pool)
	}
	operation := cloud.Operation{ID: id, Item: item}
	var raw map[string]any
	err := c.do(ctx, http.MethodGet, target, nil, "", "", &raw)
	switch {
	case item != "" && noPool(err):
		operation.Done = true
		return operation, nil
	case item != "" && missing(err), c.notFound(err):
		// If the whole cluster is gone, Azure does not find the pool's parent. Reading the cluster finds that out.
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Operation{}, c.wrap(err, "reading "+what)
	}
	operation.Done = busy(what, raw) == ""
	for _, trouble := range troubles(item, what, raw) {
		operation.Failed, operation.Message = true, trouble.Message
	}
	return operation, nil
}
