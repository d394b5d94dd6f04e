package aks

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Cluster identifies a cluster in configurations, in the objects that are sent to Azure, and in errors.
type Cluster struct{ Subscription, ResourceGroup, Name string }

func (c Cluster) config(raw map[string]any) map[string]any {
	config := mapped(raw, clusterPaths, map[string]any{"resourceGroup": c.ResourceGroup, "clusterName": c.Name})
	id := cloud.Text(raw, inCase(raw, workspace))
	set := map[string]string{
		"logAnalyticsWorkspaceGroup": segment(id, "resourceGroups"), "logAnalyticsWorkspaceName": segment(id, "workspaces"),
		"sshPublicKey": first(cloud.Get(raw, "properties.linuxProfile.ssh.publicKeys"), "keyData"),
	}
	subnet := first(cloud.Get(raw, "properties.agentPoolProfiles"), "vnetSubnetID")
	set["virtualNetworkResourceGroup"], set["virtualNetwork"], set["subnet"] = segment(subnet, "resourceGroups"), segment(subnet, "virtualNetworks"), segment(subnet, "subnets")
	identities, _ := cloud.Get(raw, "identity.userAssignedIdentities").(map[string]any)
	if ids := slices.Sorted(maps.Keys(identities)); len(ids) > 0 {
		set["userAssignedIdentity"] = ids[0]
	}
	for path, value := range set {
		if value != "" {
			config[path] = value
		}
	}
	kind := cloud.Text(raw, "identity.type")
	config["managedIdentity"] = kind != "" && kind != "None"
	return config
}

func first(list any, path string) string {
	items, _ := list.([]any)
	if len(items) == 0 {
		return ""
	}
	item, _ := items[0].(map[string]any)
	return cloud.Text(item, path)
}

func (c Cluster) newCluster(config map[string]any) (map[string]any, error) {
	pools, _ := config["nodePools"].([]any)
	switch {
	case len(pools) == 0:
		return nil, fmt.Errorf("%w: aksConfig.nodePools: a new cluster needs at least one, of mode System", cloud.ErrRefused)
	case cloud.Text(config, "dnsPrefix") == "":
		return nil, fmt.Errorf("%w: aksConfig.dnsPrefix: a new cluster needs it", cloud.ErrRefused)
	case config["managedIdentity"] == false:
		return nil, fmt.Errorf("%w: aksConfig.managedIdentity: a new cluster needs it", cloud.ErrRefused)
	}
	raw := c.withWorkspace(patched(map[string]any{}, config, clusterPaths), config)
	raw["identity"] = map[string]any{"type": "SystemAssigned"}
	if id := cloud.Text(config, "userAssignedIdentity"); id != "" {
		raw["identity"] = map[string]any{"type": "UserAssigned", "userAssignedIdentities": map[string]any{id: map[string]any{}}}
	}
	if key := cloud.Text(config, "sshPublicKey"); key != "" {
		raw = cloud.Put(raw, "properties.linuxProfile.ssh.publicKeys", []any{map[string]any{"keyData": key}})
	}
	profiles := []any{}
	for _, pool := range pools {
		of, _ := pool.(map[string]any)
		// In this request, a pool's properties are next to its name.
		properties, _ := c.inSubnet(scaled(patched(map[string]any{}, of, poolPaths)), config)["properties"].(map[string]any)
		profile := maps.Clone(properties)
		if profile == nil {
			profile = map[string]any{}
		}
		profile["name"] = of["name"]
		profiles = append(profiles, profile)
	}
	return cloud.Put(raw, "properties.agentPoolProfiles", profiles), nil
}

// changed returns the body of a request that changes the cluster, without the pools. Pools have their own
// requests, and changing a pool does not change the version of the cluster.
func (c Cluster) changed(raw map[string]any, write merge.Write) map[string]any {
	out := c.withWorkspace(patched(raw, write.Message, clusterPaths), write.Message)
	properties, _ := out["properties"].(map[string]any)
	properties = maps.Clone(properties)
	delete(properties, "agentPoolProfiles")
	out["properties"] = properties
	return out
}

// inSubnet puts a new pool into the subnet of the cluster's other pools, unless the pool names one.
func (c Cluster) inSubnet(pool, config map[string]any) map[string]any {
	network, subnet := cloud.Text(config, "virtualNetwork"), cloud.Text(config, "subnet")
	if network == "" || subnet == "" || cloud.Text(pool, poolPaths["vnetSubnetID"]) != "" {
		return pool
	}
	group := cloud.Text(config, "virtualNetworkResourceGroup")
	if group == "" {
		group = c.ResourceGroup
	}
	return cloud.Put(pool, poolPaths["vnetSubnetID"],
		fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/virtualNetworks/%s/subnets/%s", c.Subscription, group, network, subnet))
}

// withWorkspace sets the ID of the Log Analytics workspace from its group and name in the configuration. Without a
// group, it is in that of the cluster.
func (c Cluster) withWorkspace(raw, config map[string]any) map[string]any {
	group, name := cloud.Text(config, "logAnalyticsWorkspaceGroup"), cloud.Text(config, "logAnalyticsWorkspaceName")
	if name == "" {
		return raw
	}
	if group == "" {
		group = c.ResourceGroup
	}
	return cloud.Put(raw, inCase(raw, workspace), fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.OperationalInsights/workspaces/%s", c.Subscription, group, name))
}

// kinds maps the HTTP status of an answer to a kind of error.
var kinds = map[int]error{
	http.StatusBadRequest:          cloud.ErrRefused,
	http.StatusUnauthorized:        cloud.ErrCredentials,
	http.StatusForbidden:           cloud.ErrForbidden,
	http.StatusConflict:            cloud.ErrBusy,
	http.StatusPreconditionFailed:  cloud.ErrBusy,
	http.StatusUnprocessableEntity: cloud.ErrRefused,
	http.StatusTooManyRequests:     cloud.ErrThrottled,
}

// scopes maps the codes for what a cluster is in, and Azure does not have, to our fields.
var scopes = map[string]string{"ResourceGroupNotFound": "aksConfig.resourceGroup", "SubscriptionNotFound": "the subscription of the credentials"}

// wrap adds to an error what was attempted, and its kind.
func (c Cluster) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	wrapped := &cloud.Error{Doing: fmt.Sprintf("%s of the AKS cluster %s in %s", what, c.Name, c.ResourceGroup), Message: err.Error(), Cause: err}
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		wrapped.Kind, wrapped.Message = kinds[answer.StatusCode], message(answer)
		if field := scopes[answer.ErrorCode]; field != "" && answer.StatusCode == http.StatusNotFound {
			wrapped.Kind, wrapped.Message = cloud.ErrRefused, field+": "+wrapped.Message
		}
	}
	var identity *azidentity.AuthenticationFailedError
	if errors.As(err, &identity) {
		// The library's error contains the whole answer, with IDs and times.
		wrapped.Kind, wrapped.Message = cloud.ErrCredentials, "Microsoft Entra ID refuses them: "+code.FindString(err.Error())
	}
	return wrapped
}

// code matches the code of an error of Microsoft Entra ID.
var code = regexp.MustCompile(`AADSTS[0-9]+`)

// message returns the cloud's own message. The library's error contains the whole answer, with IDs and times.
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

// notFound reports whether Azure says that the cluster does not exist. Any other 404 says nothing about the
// cluster. A wrong resource group or subscription causes one, and so may a proxy.
func (c Cluster) notFound(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound && answer.ErrorCode == "ResourceNotFound" &&
		strings.Contains(strings.ToLower(message(answer)), strings.ToLower("Microsoft.ContainerService/managedClusters/"+c.Name+"'"))
}

// missing reports whether an answer says that something was not found, whatever it is.
func missing(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// noPool reports whether Azure says that a pool does not exist.
func noPool(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound && answer.ErrorCode == "NotFound"
}
