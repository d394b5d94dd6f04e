package gke

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Cluster identifies a cluster in paths, configurations and errors.
type Cluster struct {
	// Location is a region or a zone.
	Project, Location, Name string
}

// location returns a path below the project's location.
func (c Cluster) location(path ...string) string {
	out := "/v1/projects/" + url.PathEscape(c.Project) + "/locations/" + url.PathEscape(c.Location)
	for _, part := range path {
		out += "/" + url.PathEscape(part)
	}
	return out
}

func (c Cluster) cluster() string { return c.location("clusters", c.Name) }

func (c Cluster) pool(name string) string {
	return c.location("clusters", c.Name, "nodePools", name)
}

func (c Cluster) config(raw map[string]any) map[string]any {
	config := here(raw, clusterPaths)
	config["projectID"], config["clusterName"] = c.Project, c.Name
	config["region"] = c.Location
	if isZone(c.Location) {
		delete(config, "region")
		config["zone"] = c.Location
	}
	if version := cloud.Text(raw, "currentMasterVersion"); version != "" {
		config["kubernetesVersion"] = version
	}
	config["clusterAddons"] = addonsConfig(raw["addonsConfig"])
	if blocks := cloud.Get(config, "masterAuthorizedNetworks.cidrBlocks"); blocks != nil {
		config = cloud.Put(config, "masterAuthorizedNetworks.cidrBlocks", only(blocks, "cidrBlock", "displayName"))
	}
	if key := commonKey(objects(raw["nodePools"])); key != "" {
		config["customerManagedEncryptionKey"] = map[string]any{"ringName": segment(key, "keyRings"), "keyName": segment(key, "cryptoKeys")}
	}
	return config
}

// commonKey returns the key of the boot disks, if all pools have the same one.
func commonKey(pools []map[string]any) string {
	key := ""
	for i, pool := range pools {
		if of := cloud.Text(pool, "config.bootDiskKmsKey"); i == 0 || of == key {
			key = of
		} else {
			return ""
		}
	}
	return key
}

// withKey encrypts the boot disks of a new pool with the cluster's key, unless the pool names a key. Half the name of
// a key is refused: disks that were created without encryption stay so.
func (c Cluster) withKey(pool map[string]any, key any) (map[string]any, error) {
	names, _ := key.(map[string]any)
	ring, name := cloud.Text(names, "ringName"), cloud.Text(names, "keyName")
	switch {
	case cloud.Text(pool, "config.bootDiskKmsKey") != "", ring == "" && name == "":
		return pool, nil
	case ring == "" || name == "":
		return nil, fmt.Errorf("%w: gkeConfig.customerManagedEncryptionKey: ringName and keyName must both be set", cloud.ErrRefused)
	}
	location := c.Location
	if isZone(location) {
		// A key ring is in a region, or in all regions.
		location = location[:len(location)-2]
	}
	return cloud.Put(pool, "config.bootDiskKmsKey",
		fmt.Sprintf("projects/%s/locations/%s/keyRings/%s/cryptoKeys/%s", c.Project, location, ring, name)), nil
}

// wrap adds to an error what was attempted, and its kind.
func (c Cluster) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	wrapped := &cloud.Error{Doing: fmt.Sprintf("%s of the GKE cluster %s in %s", what, c.Name, c.Location), Message: err.Error(), Cause: err}
	var answer *googleapi.Error
	var noToken *oauth2.RetrieveError
	switch {
	case errors.As(err, &answer):
		wrapped.Kind, wrapped.Message = kindOf(answer), answer.Message
	case errors.As(err, &noToken) && noToken.Response != nil && noToken.Response.StatusCode < http.StatusInternalServerError:
		wrapped.Kind, wrapped.Message = cloud.ErrCredentials, noToken.ErrorCode+": "+noToken.ErrorDescription
	}
	return wrapped
}

// kinds maps the HTTP status of an answer to a kind of error. GKE answers with a conflict if the etag is out
// of date, or if what should be created exists already.
var kinds = map[int]error{
	http.StatusBadRequest:         cloud.ErrRefused,
	http.StatusUnauthorized:       cloud.ErrCredentials,
	http.StatusForbidden:          cloud.ErrForbidden,
	http.StatusConflict:           cloud.ErrBusy,
	http.StatusPreconditionFailed: cloud.ErrBusy,
	http.StatusTooManyRequests:    cloud.ErrThrottled,
}

// whileBusy are parts of what GKE answers while an operation runs. The last two are in issues 3650 and 7638 of
// hashicorp/terraform-provider-google.
var whileBusy = []string{"CLUSTER_ALREADY_HAS_OPERATION", "incompatible operation", "Please wait and try again once it is done", "Cluster is currently being "}

// kindOf returns the kind of an error. While an operation runs, GKE refuses another one as a bad request.
func kindOf(answer *googleapi.Error) error {
	if slices.ContainsFunc(whileBusy, func(part string) bool { return strings.Contains(answer.Body, part) }) {
		return cloud.ErrBusy
	}
	return kinds[answer.Code]
}
