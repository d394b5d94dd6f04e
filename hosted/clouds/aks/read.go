package aks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Read reads the cluster and its pools. It sends two requests, and one more for each further page of pools.
func (c *Client) Read(ctx context.Context) (cloud.Reading, error) {
	var raw map[string]any
	err := c.do(ctx, http.MethodGet, c.url(), nil, "", "", &raw)
	if c.notFound(err) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Reading{}, c.wrap(err, "reading")
	}
	reading := cloud.Reading{
		Complete: true, Config: c.config(raw), UID: cloud.Text(raw, "properties.resourceUID"), IDs: map[string]string{"": cloud.Text(raw, "id")},
		Versions: map[string]string{"": cloud.Text(raw, "eTag")}, Raw: map[string]map[string]any{"": raw},
	}
	reading.Busy = busy("the cluster", raw)
	reading.Troubles = troubles("", "the cluster", raw)
	if power := cloud.Text(raw, "properties.powerState.code"); power == "Stopped" {
		reading.Stopped = true
		reading.Troubles = append(reading.Troubles, cloud.NewTrouble("", "the cluster", power, "AKS changes nothing until it is started"))
	}
	found, err := c.pools(ctx)
	if err != nil {
		return cloud.Reading{}, c.wrap(err, "reading the node pools")
	}
	pools := []any{}
	for _, pool := range found {
		name := cloud.Text(pool, "name")
		path := itemPath(name)
		reading.IDs[path], reading.Versions[path], reading.Raw[path] = cloud.Text(pool, "id"), cloud.Text(pool, "properties.eTag"), pool
		if reading.Busy == "" {
			reading.Busy = busy("the node pool "+name, pool)
		}
		reading.Troubles = append(reading.Troubles, troubles(path, "the node pool "+name, pool)...)
		pools = append(pools, mapped(pool, poolPaths, map[string]any{"name": name}))
	}
	reading.Config["nodePools"] = pools
	return reading, nil
}

func (c *Client) pools(ctx context.Context) ([]map[string]any, error) {
	var pools []map[string]any
	target := c.url("agentPools")
	for number := 1; target != ""; number++ {
		if err := cloud.Page(number); err != nil {
			return nil, err
		}
		var page struct {
			Value    []map[string]any `json:"value"`
			NextLink string           `json:"nextLink"`
		}
		if err := c.do(ctx, http.MethodGet, target, nil, "", "", &page); err != nil {
			return nil, err
		}
		if !sameServer(page.NextLink, target) {
			return nil, errElsewhere
		}
		pools, target = append(pools, page.Value...), page.NextLink
	}
	return pools, nil
}

var errElsewhere = errors.New("the next page of a list is said to be on another server, which must not get the credentials")

// sameServer reports whether link is empty, or leads to the same server as the other URL.
func sameServer(link, as string) bool {
	next, err := url.Parse(link)
	here, bad := url.Parse(as)
	return link == "" || err == nil && bad == nil && next.Scheme == here.Scheme && strings.EqualFold(next.Host, here.Host)
}

func busy(what string, raw map[string]any) string {
	switch state := cloud.Text(raw, "properties.provisioningState"); state {
	case "", "Succeeded", "Failed", "Canceled":
		return ""
	default:
		return fmt.Sprintf("%s is %s", what, state)
	}
}

// troubles says that the last operation has failed. AKS keeps the reason until another one succeeds.
func troubles(item, what string, raw map[string]any) []cloud.Trouble {
	state := cloud.Text(raw, "properties.provisioningState")
	if state != "Failed" && state != "Canceled" {
		return nil
	}
	return []cloud.Trouble{cloud.NewTrouble(item, what, state, cloud.Text(raw, "properties.status.provisioningError.message"))}
}

// mapped copies the values that raw has to config.
func mapped(raw map[string]any, paths map[string]string, config map[string]any) map[string]any {
	for path, there := range paths {
		if value := cloud.Get(raw, inCase(raw, there)); value != nil {
			config[path] = value
		}
	}
	return config
}
