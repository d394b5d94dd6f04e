package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
)

type object = map[string]any

// send sends a request to a cloud, from somebody who has nothing to do with Spillway.
func send(ctx context.Context, to *httptest.Server, method, path string, body object, header http.Header) (object, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, to.URL+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	request.Header.Set("Authorization", "Bearer somebody")
	response, err := to.Client().Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var out object
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s %s: %s: %v", method, path, response.Status, out)
	}
	return out, nil
}

// consoleOfEKS sets the addresses that may reach the public endpoint.
func (d *demo) consoleOfEKS(ctx context.Context, cidr string) error {
	_, err := send(ctx, d.clouds.eksServer, http.MethodPost, "/clusters/shop/update-config",
		object{"resourcesVpcConfig": object{"publicAccessCidrs": []string{cidr}}}, http.Header{})
	return err
}

const pathInAKS = "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/shop?api-version=2026-05-01"

// consoleOfAKS sets a tag.
func (d *demo) consoleOfAKS(ctx context.Context, tag, value string) error {
	cluster, err := d.readAKS(ctx)
	if err != nil {
		return err
	}
	tags, _ := cluster["tags"].(object)
	tags[tag] = value
	properties, _ := cluster["properties"].(object)
	delete(properties, "agentPoolProfiles")
	etag, _ := cluster["eTag"].(string)
	_, err = send(ctx, d.clouds.aksServer, http.MethodPut, pathInAKS, cluster, http.Header{"If-Match": {etag}})
	return err
}

func (d *demo) readAKS(ctx context.Context) (object, error) {
	return send(ctx, d.clouds.aksServer, http.MethodGet, pathInAKS, nil, http.Header{})
}
