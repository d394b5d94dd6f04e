package aks

import (
	"slices"
	"strings"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// clusterPaths maps our fields to the fields of a managedCluster, where both have the same values.
var clusterPaths = map[string]string{
	"resourceLocation":       "location",
	"tags":                   "tags",
	"kubernetesVersion":      "properties.kubernetesVersion",
	"authorizedIpRanges":     "properties.apiServerAccessProfile.authorizedIPRanges",
	"privateCluster":         "properties.apiServerAccessProfile.enablePrivateCluster",
	"privateDnsZone":         "properties.apiServerAccessProfile.privateDNSZone",
	"httpApplicationRouting": "properties.addonProfiles.httpApplicationRouting.enabled",
	"monitoring":             "properties.addonProfiles.omsagent.enabled",
	"networkPlugin":          "properties.networkProfile.networkPlugin",
	"networkPolicy":          "properties.networkProfile.networkPolicy",
	"dnsServiceIp":           "properties.networkProfile.dnsServiceIP",
	"serviceCidr":            "properties.networkProfile.serviceCidr",
	"podCidr":                "properties.networkProfile.podCidr",
	"outboundType":           "properties.networkProfile.outboundType",
	"loadBalancerSku":        "properties.networkProfile.loadBalancerSku",
	"dnsPrefix":              "properties.dnsPrefix",
	"nodeResourceGroup":      "properties.nodeResourceGroup",
	"linuxAdminUsername":     "properties.linuxProfile.adminUsername",
}

// poolPaths maps our fields of a pool to the fields of an agentPool.
var poolPaths = map[string]string{
	"count":               "properties.count",
	"minCount":            "properties.minCount",
	"maxCount":            "properties.maxCount",
	"enableAutoScaling":   "properties.enableAutoScaling",
	"orchestratorVersion": "properties.orchestratorVersion",
	"nodeLabels":          "properties.nodeLabels",
	"nodeTaints":          "properties.nodeTaints",
	"maxSurge":            "properties.upgradeSettings.maxSurge",
	"mode":                "properties.mode",
	"maxPods":             "properties.maxPods",
	"vmSize":              "properties.vmSize",
	"osDiskSizeGB":        "properties.osDiskSizeGB",
	"osDiskType":          "properties.osDiskType",
	"osType":              "properties.osType",
	"vnetSubnetID":        "properties.vnetSubnetID",
	"availabilityZones":   "properties.availabilityZones",
}

// workspace is the path where the add-on omsagent keeps the ID of its Log Analytics workspace.
const workspace = "properties.addonProfiles.omsagent.config.logAnalyticsWorkspaceResourceID"

// addons is the path of the add-ons. Azure keeps their names in the case in which they were first sent, such as
// omsAgent, and finds them in any case.
const addons = "properties.addonProfiles."

// inCase returns the path of an add-on with its name as raw has it. It returns all other paths as they are.
func inCase(raw map[string]any, path string) string {
	rest, ok := strings.CutPrefix(path, addons)
	if !ok {
		return path
	}
	name, field, _ := strings.Cut(rest, ".")
	profiles, _ := cloud.Get(raw, strings.TrimSuffix(addons, ".")).(map[string]any)
	for has := range profiles {
		if strings.EqualFold(has, name) {
			return addons + has + "." + field
		}
	}
	return path
}

// segment returns what follows a name in the ID of a resource. It ignores the case of the name.
func segment(id, name string) string {
	parts := strings.Split(id, "/")
	i := slices.IndexFunc(parts, func(part string) bool { return strings.EqualFold(part, name) })
	if i < 0 || i+1 >= len(parts) {
		return ""
	}
	return parts[i+1]
}
