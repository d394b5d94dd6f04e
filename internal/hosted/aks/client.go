package aks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
	"github.com/spillway-io/spillway/internal/hosted/merge"
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
	// Credential is the identity of the pipeline. Only clusters with Microsoft Entra ID need
	// it, for Connection.
	Credential azcore.TokenCredential
}

// The cloud.Client that it is.
var _ cloud.Client = &Client{}

// Table describes the configuration.
func (c *Client) Table() *merge.Table { return Table }

// Idempotent is false: AKS knows no tokens.
func (c *Client) Idempotent() bool { return false }

// OperationIDs is empty: AKS keeps no list.
func (c *Client) OperationIDs(context.Context, string) ([]string, error) { return nil, nil }

// Operation is refused, for there are none.
func (c *Client) Operation(_ context.Context, _, id string) (cloud.Operation, error) {
	return cloud.Operation{}, c.wrap(cloud.ErrUnsupported, "reading the operation "+id)
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

// kinds of errors by the status of an answer.
var kinds = map[int]error{
	http.StatusBadRequest:          cloud.ErrRefused,
	http.StatusUnauthorized:        cloud.ErrCredentials,
	http.StatusForbidden:           cloud.ErrForbidden,
	http.StatusConflict:            cloud.ErrBusy,
	http.StatusPreconditionFailed:  cloud.ErrBusy,
	http.StatusUnprocessableEntity: cloud.ErrRefused,
	http.StatusTooManyRequests:     cloud.ErrThrottled,
}

// wrap says what was done, and what the cloud's answer means.
func (c *Client) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	wrapped := &cloud.Error{Doing: fmt.Sprintf("%s of the AKS cluster %s in %s", what, c.Cluster, c.ResourceGroup), Message: err.Error(), Cause: err}
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		wrapped.Kind, wrapped.Message = kinds[answer.StatusCode], message(answer)
	}
	var identity *azidentity.AuthenticationFailedError
	if errors.As(err, &identity) {
		// It prints the whole answer, with IDs and times.
		wrapped.Kind, wrapped.Message = cloud.ErrCredentials, "Microsoft Entra ID refuses them: "+code.FindString(err.Error())
	}
	return wrapped
}

// code is that of an error of Microsoft Entra ID.
var code = regexp.MustCompile(`AADSTS[0-9]+`)

// message is the cloud's own: the error prints the whole answer, with IDs and times.
func message(answer *azcore.ResponseError) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if answer.RawResponse == nil || runtime.UnmarshalAsJSON(answer.RawResponse, &body) != nil {
		return answer.ErrorCode
	}
	return answer.ErrorCode + ": " + body.Error.Message
}

// notFound tells whether Azure says that it does not have the cluster. Any other 404 says
// nothing of it: of the group or the subscription, which may be the wrong one, or of a proxy.
func (c *Client) notFound(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound && answer.ErrorCode == "ResourceNotFound" &&
		strings.Contains(strings.ToLower(message(answer)), strings.ToLower("Microsoft.ContainerService/managedClusters/"+c.Cluster+"'"))
}

// noPool does the same for a pool.
func noPool(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound && answer.ErrorCode == "NotFound"
}
