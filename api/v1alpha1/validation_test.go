package v1alpha1_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// fields sets fields of an object, from the path of a field, with dots, to its value. The value nil
// removes the field.
type fields map[string]any

// list and object are values of a field that is neither text nor number.
type (
	list   = []any
	object = map[string]any
)

// validationCase tries one object, or one change of an object.
type validationCase struct {
	// set has the fields of the object in addition to the minimum of its kind.
	set fields
	// change has the fields of the update, if the case is about an update.
	change fields
	// want is a part of the message that the user sees, or empty if the object is accepted.
	want string
}

const (
	wantLabel      = "must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	wantLabelValue = "must be label values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	wantCapacity   = "spec.virtualNode.capacity: Invalid value: capacity must be a quantity that is not negative, such as 64 or 256Gi, or a percentage"
	wantResource   = "spec.virtualNode.capacity: Invalid value: capacity must name resources of nodes: cpu, memory, pods, ephemeral-storage, hugepages-SIZE, or one with a domain, such as example.com/gpu"
	wantBudget     = "memory must be a quantity from 8Mi to 16Gi, such as 512Mi"
	wantGroupKey   = "groupBy must not list keys of spillway.io: they are Spillway's own, and do not tell the provider's nodes apart"
	wantPercentage = "spec.virtualNode.capacity: Invalid value: capacity as a percentage must be a whole number from 0% to 100%"
)

// elasticGroup returns a binding with groupBy and one group that can grow, after changes of the group and of elastic, and
// perhaps more groups.
func elasticGroup(group, elastic object, more ...any) fields {
	whole := object{"labels": object{"disk": "a"}, "node": object{"cpu": "2", "memory": "8Gi"}, "maxNodes": int64(3)}
	maps.Copy(whole, group)
	maps.DeleteFunc(whole, func(_ string, value any) bool { return value == nil })
	all := object{"groups": append(list{whole}, more...)}
	maps.Copy(all, elastic)
	return fields{"spec.virtualNode.groupBy": list{"disk"}, "spec.virtualNode.elastic": all}
}

// term returns a clusterSelector of one term with one requirement.
func term(key, operator string, values ...string) object {
	return requirement("matchExpressions", key, operator, values...)
}

// field returns a clusterSelector of one term with one requirement on a field.
func field(key, operator string, values ...string) object {
	return requirement("matchFields", key, operator, values...)
}

func requirement(kind, key, operator string, values ...string) object {
	r := object{"key": key, "operator": operator}
	if values != nil {
		r["values"] = texts(values...)
	}
	return selector(object{kind: list{r}})
}

func selector(terms ...any) object { return object{"nodeSelectorTerms": terms} }

func texts(values ...string) list {
	l := list{}
	for _, v := range values {
		l = append(l, v)
	}
	return l
}

func tiers(of ...any) list { return of }

// inTier returns a tier of the providers of a region.
func inTier(region string) object {
	return object{"clusterSelector": term("region", "In", region)}
}

func with(o object, key string, value any) object {
	o = maps.Clone(o)
	o[key] = value
	return o
}

// times returns a list that repeats the item n times.
func times(n int, item any) list { return slices.Repeat(list{item}, n) }

// many returns a map of n entries.
func many(n int, value any) object {
	m := object{}
	for i := range n {
		m[fmt.Sprintf("example.com/%d", i)] = value
	}
	return m
}

func long(n int) string { return strings.Repeat("a", n) }

// routed returns a spec.network with these ranges. ranges returns n ranges, and longRanges returns
// n of the maximum length.
func routed(cidrs ...string) object { return object{"mode": "Routed", "podCIDRs": texts(cidrs...)} }

func ranges(n int) []string {
	var cidrs []string
	for i := range n {
		cidrs = append(cidrs, fmt.Sprintf("10.%d.0.0/16", i))
	}
	return cidrs
}

func longRanges(n int) []string {
	var cidrs []string
	for i := range n {
		cidrs = append(cidrs, fmt.Sprintf("fd00:1111:2222:3333:4444:5555:6666:77%02x/128", i))
	}
	return cidrs
}

// class returns an item of spec.classes, and classes returns n of them.
func class(kind, name, remote string) object {
	item := object{"kind": kind, "name": name}
	if remote != "" {
		item["remoteName"] = remote
	}
	return item
}

func importing(kind, name, remote string) object {
	item := class(kind, name, remote)
	item["import"] = true
	return item
}

func classes(n int) list {
	var all list
	for _, name := range names(n) {
		all = append(all, object{"kind": "StorageClass", "name": name, "remoteName": name})
	}
	return all
}

// hosts returns n hosts of the maximum length.
func hosts(n int) list {
	var all list
	for i := range n {
		all = append(all, fmt.Sprintf("*.%s%03d", strings.Repeat(long(59)+".", 4)+long(8), i))
	}
	return all
}

// names returns n names of the maximum length.
func names(n int) list {
	var all list
	for i := range n {
		all = append(all, fmt.Sprintf("%s%03d", strings.Repeat(long(59)+".", 4)+long(10), i))
	}
	return all
}

// account returns an item of spec.serviceAccounts, and accounts returns n of the maximum length.
func account(namespace, name, remote string) object {
	return object{"namespace": namespace, "name": name, "remoteName": remote}
}

func accounts(n int) list {
	var all list
	for _, name := range names(n) {
		all = append(all, object{"namespace": long(63), "name": name, "remoteName": name})
	}
	return all
}

func wantAPIHost(host string) string {
	return fmt.Sprintf("Invalid value: %q: host must be a DNS name in lower case, or an IP address that is not loopback, link-local or multicast", host)
}

func wantAPIAddress(ip string) string {
	return fmt.Sprintf("spec.consumerAPI.ip: Invalid value: %q: ip must be an IP address that is not loopback, link-local or multicast", ip)
}

const wantHost = "a host must be a DNS name in lower case, '*.' and such a name, or '*'"

func wantNoPods(cidr string) string {
	return fmt.Sprintf("podCIDRs must not contain unspecified, loopback, link-local or multicast addresses; %q does", cidr)
}

var bindingCases = map[string]validationCase{
	"the least there can be": {},
	"everything there is": {set: fields{
		"spec.kubeconfigSecretRef.key":         "config.yaml",
		"spec.mountNamespace":                  "spillover",
		"spec.remoteNamespaces.strategies":     texts("DefaultName", "EnforceSameName", "SelectedName"),
		"spec.remoteNamespaces.namePattern":    "acme-[a-z]+|team-.*",
		"spec.virtualNode.labels":              object{"topology.kubernetes.io/region": "eu", "tier": ""},
		"spec.virtualNode.annotations":         object{"example.com/contact": "ops@example.com"},
		"spec.virtualNode.taints":              list{object{"key": "example.com/gpu", "value": "true", "effect": "NoExecute"}},
		"spec.virtualNode.capacity":            object{"cpu": "50%", "memory": "256Gi", "pods": int64(110)},
		"spec.deletionPolicy":                  "Orphan",
		"spec.unreachable.deletionTimeout":     "1h30m",
		"spec.paused":                          true,
		"spec.budget":                          object{"memory": "512Mi", "objects": int64(100_000)},
		"metadata.labels.example\\.com/anyone": "likes",
	}},

	"no spec":                {set: fields{"spec": nil}, want: "spec: Required value"},
	"no clusterID":           {set: fields{"spec.clusterID": nil}, want: "spec.clusterID: Required value"},
	"empty clusterID":        {set: fields{"spec.clusterID": ""}, want: `spec.clusterID: Invalid value: "": spec.clusterID in body should be at least 1 chars long`},
	"longest clusterID":      {set: fields{"spec.clusterID": long(24)}},
	"clusterID too long":     {set: fields{"spec.clusterID": long(25)}, want: `spec.clusterID: Too long: may not be more than 24 bytes`},
	"clusterID in capitals":  {set: fields{"spec.clusterID": "EU"}, want: `spec.clusterID: Invalid value: "EU": clusterID ` + wantLabel},
	"clusterID with a dot":   {set: fields{"spec.clusterID": "eu.1"}, want: `spec.clusterID: Invalid value: "eu.1": clusterID ` + wantLabel},
	"clusterID ends with -":  {set: fields{"spec.clusterID": "eu-"}, want: `spec.clusterID: Invalid value: "eu-": clusterID ` + wantLabel},
	"clusterID changed":      {change: fields{"spec.clusterID": "us"}, want: `spec.clusterID: Invalid value: "us": clusterID is immutable: delete and recreate the ClusterBinding`},
	"name of 253 characters": {set: fields{"metadata.name": strings.Repeat(long(49)+".", 5) + "abc"}},
	"name of 254 characters": {set: fields{"metadata.name": strings.Repeat(long(49)+".", 5) + "abcd"}, want: "metadata.name: Invalid value"},

	"classes":                            {set: fields{"spec.classes": list{class("RuntimeClass", "sandbox", "gvisor"), class("IngressClass", "public", "public"), class("PriorityClass", "sandbox", "low"), class("RuntimeClass", "system-x", "gvisor")}}},
	"most classes, and longest":          {set: fields{"spec.classes": classes(64)}},
	"too many classes":                   {set: fields{"spec.classes": classes(65)}, want: "spec.classes: Too many: 65: must have at most 64 items"},
	"classes that are imported":          {set: fields{"spec.classes": list{importing("RuntimeClass", strings.Repeat("a", 63), "b"), importing("PriorityClass", "a", "b"), importing("IngressClass", strings.Repeat("a", 64), "b")}}},
	"class that is no object, imported":  {set: fields{"spec.classes": list{importing("LoadBalancer", "a", "b")}}, want: "spec.classes[0].import: Invalid value: import is not for a LoadBalancer or a Gateway: a loadBalancerClass is no object, and Gateways have owners"},
	"Gateway that is imported":           {set: fields{"spec.classes": list{importing("Gateway", "a/b", "c/d")}}, want: "spec.classes[0].import: Invalid value: import is not for a LoadBalancer or a Gateway"},
	"Gateways":                           {set: fields{"spec.classes": list{class("Gateway", "gateways/public", "infra/public.eu"), class("Gateway", "0/1", "0/1")}}},
	"Gateway without a namespace":        {set: fields{"spec.classes": list{class("Gateway", "public", "a/b")}}, want: "spec.classes[0].name: Invalid value: name must be the namespace and the name of a Gateway, such as gateways/public"},
	"Gateway of three parts there":       {set: fields{"spec.classes": list{class("Gateway", "a/b", "a/b/c")}}, want: "spec.classes[0].remoteName: Invalid value: remoteName must be the namespace and the name of a Gateway, such as gateways/public"},
	"Gateway in capitals":                {set: fields{"spec.classes": list{class("Gateway", "a/B", "a/b")}}, want: "spec.classes[0].name: Invalid value: name must be"},
	"Gateway that is called nothing":     {set: fields{"spec.classes": list{class("Gateway", "a/b", "")}}, want: "spec.classes[0].remoteName: Required value"},
	"class for a label, imported":        {set: fields{"spec.classes": list{importing("RuntimeClass", strings.Repeat("a", 64), "b")}}, want: "spec.classes[0].name: Invalid value: name of a RuntimeClass or StorageClass that is imported must have at most 63 characters: it is part of a label of the virtual node"},
	"classes of storage":                 {set: fields{"spec.classes": list{class("StorageClass", "eu-"+strings.Repeat("a", 61), "fast"), importing("StorageClass", strings.Repeat("a", 63), "fast"), importing("VolumeAttributesClass", strings.Repeat("a", 64), "gold")}}},
	"StorageClass for a label, imported": {set: fields{"spec.classes": list{importing("StorageClass", strings.Repeat("a", 64), "b")}}, want: "spec.classes[0].name: Invalid value: name of a RuntimeClass or StorageClass that is imported must have at most 63 characters"},
	"no class of storage":                {set: fields{"spec.classes": list{class("StorageClass", "a/b", "fast")}}, want: "spec.classes[0].name: Invalid value: name must be the name of a class: a DNS subdomain"},
	"no class of volume attributes":      {set: fields{"spec.classes": list{class("VolumeAttributesClass", "a", "B")}}, want: "spec.classes[0].remoteName: Invalid value: remoteName must be the name of a class: a DNS subdomain"},
	"class twice":                        {set: fields{"spec.classes": list{class("RuntimeClass", "a", "b"), class("RuntimeClass", "a", "c")}}, want: "spec.classes[1]: Duplicate value"},
	"class of no such kind":              {set: fields{"spec.classes": list{class("DeviceClass", "a", "b")}}, want: `spec.classes[0].kind: Unsupported value: "DeviceClass": supported values: "LoadBalancer", "IngressClass", "Gateway", "RuntimeClass", "PriorityClass", "StorageClass", "VolumeAttributesClass"`},
	"class without a kind":               {set: fields{"spec.classes": list{object{"name": "a", "remoteName": "b"}}}, want: "spec.classes[0].kind: Required value"},
	"class without a name":               {set: fields{"spec.classes": list{object{"kind": "RuntimeClass", "remoteName": "b"}}}, want: "spec.classes[0].name: Required value"},
	"class that is called nothing there": {set: fields{"spec.classes": list{class("RuntimeClass", "a", "")}}, want: "spec.classes[0].remoteName: Required value: remoteName may be omitted only with kind LoadBalancer: it then means the provider's default"},
	"classes of load balancers":          {set: fields{"spec.classes": list{class("LoadBalancer", "example.com/Public", "service.k8s.aws/nlb"), class("LoadBalancer", "internal", "")}}},
	"no class of load balancers":         {set: fields{"spec.classes": list{class("LoadBalancer", "a/b/c", "b")}}, want: "spec.classes[0].name: Invalid value: name must be a loadBalancerClass, such as example.com/public"},
	"no class of load balancers there":   {set: fields{"spec.classes": list{class("LoadBalancer", "a", "b c")}}, want: "spec.classes[0].remoteName: Invalid value: remoteName must be a loadBalancerClass, such as example.com/public"},
	"class with an empty name":           {set: fields{"spec.classes": list{object{"kind": "RuntimeClass", "name": "", "remoteName": "b"}}}, want: "spec.classes[0].name in body should be at least 1 chars long"},
	"class with an empty name there":     {set: fields{"spec.classes": list{object{"kind": "RuntimeClass", "name": "a", "remoteName": ""}}}, want: "spec.classes[0].remoteName in body should be at least 1 chars long"},
	"no name of a class":                 {set: fields{"spec.classes": list{class("RuntimeClass", "A", "b")}}, want: "spec.classes[0].name: Invalid value: name must be the name of a class: a DNS subdomain"},
	"no name of a class there":           {set: fields{"spec.classes": list{class("PriorityClass", "a", "b_")}}, want: "spec.classes[0].remoteName: Invalid value: remoteName must be the name of a class: a DNS subdomain"},
	"class of the system":                {set: fields{"spec.classes": list{class("PriorityClass", "system-node-critical", "b")}}, want: "spec.classes[0].name: Invalid value: name must not begin with 'system-': such PriorityClasses are for the consumer's own pods"},
	"class of the system there":          {set: fields{"spec.classes": list{class("PriorityClass", "a", "system-node-critical")}}, want: "spec.classes[0].remoteName: Invalid value: remoteName must not begin with 'system-': such PriorityClasses are for the provider's own pods"},
	"class of Ingresses":                 {set: fields{"spec.classes": list{class("IngressClass", "eu-public", "public")}}},
	"no class of Ingresses":              {set: fields{"spec.classes": list{class("IngressClass", "a/b", "public")}}, want: "spec.classes[0].name: Invalid value: name must be the name of a class: a DNS subdomain"},
	"no class of Ingresses there":        {set: fields{"spec.classes": list{class("IngressClass", "a", "")}}, want: "spec.classes[0].remoteName: Required value: remoteName may be omitted only with kind LoadBalancer"},
	"another class of that name":         {set: fields{"spec.classes": list{class("RuntimeClass", "a", "b")}}, change: fields{"spec.classes": list{class("RuntimeClass", "a", "c")}}},

	"hosts":                   {set: fields{"spec.hosts": texts("*", "example.com", "*.team-a.example.com", "local")}},
	"most hosts, and longest": {set: fields{"spec.hosts": hosts(32)}},
	"too many hosts":          {set: fields{"spec.hosts": hosts(33)}, want: "spec.hosts: Too many: 33: must have at most 32 items"},
	"no host":                 {set: fields{"spec.hosts": list{}}, want: "spec.hosts: Invalid value: 0: spec.hosts in body should have at least 1 items"},
	"host twice":              {set: fields{"spec.hosts": texts("a", "a")}, want: "spec.hosts[1]: Duplicate value"},
	"host in capitals":        {set: fields{"spec.hosts": texts("a", "A.example.com")}, want: `spec.hosts[1]: Invalid value: "A.example.com": ` + wantHost},
	"host with a star inside": {set: fields{"spec.hosts": texts("a", "a.*.example.com")}, want: wantHost},
	"host of a star alone":    {set: fields{"spec.hosts": texts("a", "*.")}, want: wantHost},
	"host with a port":        {set: fields{"spec.hosts": texts("a", "example.com:80")}, want: wantHost},
	"host that is empty":      {set: fields{"spec.hosts": texts("a", "")}, want: "spec.hosts[1] in body should be at least 1 chars long"},

	"API of the consumer":                  {set: fields{"spec.consumerAPI": object{"host": "api.example.com", "port": int64(6443), "ip": "10.0.0.1", "caBundle": "YQ=="}}},
	"API of the consumer, by address":      {set: fields{"spec.consumerAPI": object{"host": "fd00::1"}}},
	"API of the consumer, longest":         {set: fields{"spec.consumerAPI": object{"host": strings.Repeat(long(49)+".", 5) + "abc", "port": int64(65535), "ip": "fd00:1111:2222:3333:4444:5555:6666:7777", "caBundle": strings.Repeat("YWFh", 1<<14)}}},
	"API without a host":                   {set: fields{"spec.consumerAPI": object{"port": int64(443)}}, want: "spec.consumerAPI.host: Required value"},
	"API with an empty host":               {set: fields{"spec.consumerAPI": object{"host": ""}}, want: "spec.consumerAPI.host in body should be at least 1 chars long"},
	"API with a URL":                       {set: fields{"spec.consumerAPI": object{"host": "https://api.example.com"}}, want: "spec.consumerAPI.host: " + wantAPIHost("https://api.example.com")},
	"API with a port twice":                {set: fields{"spec.consumerAPI": object{"host": "api.example.com:6443"}}, want: wantAPIHost("api.example.com:6443")},
	"API with an address in brackets":      {set: fields{"spec.consumerAPI": object{"host": "[fd00::1]"}}, want: wantAPIHost("[fd00::1]")},
	"API of the pod itself":                {set: fields{"spec.consumerAPI": object{"host": "127.0.0.1"}}, want: wantAPIHost("127.0.0.1")},
	"API with an endless host":             {set: fields{"spec.consumerAPI": object{"host": long(254)}}, want: "spec.consumerAPI.host: Too long: may not be more than 253 bytes"},
	"API on no port":                       {set: fields{"spec.consumerAPI": object{"host": "a", "port": int64(0)}}, want: "spec.consumerAPI.port in body should be greater than or equal to 1"},
	"API on a port beyond all":             {set: fields{"spec.consumerAPI": object{"host": "a", "port": int64(65536)}}, want: "spec.consumerAPI.port in body should be less than or equal to 65535"},
	"API with two addresses":               {set: fields{"spec.consumerAPI": object{"host": "10.0.0.1", "ip": "10.0.0.2"}}, want: "spec.consumerAPI.ip: Forbidden: ip is for a host that is a DNS name"},
	"API whose address is a name":          {set: fields{"spec.consumerAPI": object{"host": "a", "ip": "b"}}, want: wantAPIAddress("b")},
	"API whose address is the pod's":       {set: fields{"spec.consumerAPI": object{"host": "a", "ip": "::1"}}, want: wantAPIAddress("::1")},
	"API whose address is link-local":      {set: fields{"spec.consumerAPI": object{"host": "a", "ip": "169.254.169.254"}}, want: wantAPIAddress("169.254.169.254")},
	"API with an empty address":            {set: fields{"spec.consumerAPI": object{"host": "a", "ip": ""}}, want: "spec.consumerAPI.ip in body should be at least 1 chars long"},
	"API with an endless address":          {set: fields{"spec.consumerAPI": object{"host": "a", "ip": long(40)}}, want: "spec.consumerAPI.ip: Too long: may not be more than 39 bytes"},
	"API with certificates without end":    {set: fields{"spec.consumerAPI": object{"host": "a", "caBundle": strings.Repeat("YWFh", 1<<14+1)}}, want: "spec.consumerAPI.caBundle: Too long: may not be more than 65536 bytes"},
	"API with certificates, not in base64": {set: fields{"spec.consumerAPI": object{"host": "a", "caBundle": "-----BEGIN"}}, want: "spec.consumerAPI.caBundle: Invalid value"},

	"accounts":                         {set: fields{"spec.serviceAccounts": list{account("*", "s3-reader", "s3-reader"), account("team-a", "s3-reader", "s3.reader"), account("team-a", "s3-writer", "s3-reader")}}},
	"most accounts, and longest":       {set: fields{"spec.serviceAccounts": accounts(64)}},
	"too many accounts":                {set: fields{"spec.serviceAccounts": accounts(65)}, want: "spec.serviceAccounts: Too many: 65: must have at most 64 items"},
	"account twice":                    {set: fields{"spec.serviceAccounts": list{account("a", "b", "c"), account("a", "b", "d")}}, want: "spec.serviceAccounts[1]: Duplicate value"},
	"account without a namespace":      {set: fields{"spec.serviceAccounts": list{object{"name": "a", "remoteName": "b"}}}, want: "spec.serviceAccounts[0].namespace: Required value"},
	"account without a name":           {set: fields{"spec.serviceAccounts": list{object{"namespace": "a", "remoteName": "b"}}}, want: "spec.serviceAccounts[0].name: Required value"},
	"account of nobody there":          {set: fields{"spec.serviceAccounts": list{object{"namespace": "a", "name": "b"}}}, want: "spec.serviceAccounts[0].remoteName: Required value"},
	"account of an empty namespace":    {set: fields{"spec.serviceAccounts": list{account("", "b", "c")}}, want: "spec.serviceAccounts[0].namespace in body should be at least 1 chars long"},
	"account of an endless namespace":  {set: fields{"spec.serviceAccounts": list{account(long(64), "b", "c")}}, want: "spec.serviceAccounts[0].namespace: Too long: may not be more than 63 bytes"},
	"account of a pattern":             {set: fields{"spec.serviceAccounts": list{account("team-*", "b", "c")}}, want: `spec.serviceAccounts[0].namespace: Invalid value: "team-*": namespace must be the name of a namespace, or *`},
	"account with an empty name":       {set: fields{"spec.serviceAccounts": list{account("a", "", "c")}}, want: "spec.serviceAccounts[0].name in body should be at least 1 chars long"},
	"account with an empty name there": {set: fields{"spec.serviceAccounts": list{account("a", "b", "")}}, want: "spec.serviceAccounts[0].remoteName in body should be at least 1 chars long"},
	"account that is every one":        {set: fields{"spec.serviceAccounts": list{account("a", "*", "c")}}, want: `spec.serviceAccounts[0].name: Invalid value: "*": must be the name of a ServiceAccount: a DNS subdomain`},
	"account with an endless name":     {set: fields{"spec.serviceAccounts": list{account("a", long(254), "c")}}, want: "spec.serviceAccounts[0].name: Too long: may not be more than 253 bytes"},
	"account in another namespace":     {set: fields{"spec.serviceAccounts": list{account("a", "b", "kube-system/c")}}, want: `spec.serviceAccounts[0].remoteName: Invalid value: "kube-system/c": must be the name of a ServiceAccount: a DNS subdomain`},

	"least budget":              {set: fields{"spec.budget": object{"memory": "8Mi", "objects": int64(100)}}},
	"most budget":               {set: fields{"spec.budget": object{"memory": "16Gi", "objects": int64(1_000_000)}}},
	"budget as a number":        {set: fields{"spec.budget.memory": int64(8 << 20)}},
	"budget of too few bytes":   {set: fields{"spec.budget.memory": int64(8<<20 - 1)}, want: wantBudget},
	"budget of too little":      {set: fields{"spec.budget.memory": "8191Ki"}, want: wantBudget},
	"budget of too much":        {set: fields{"spec.budget.memory": "17Gi"}, want: wantBudget},
	"negative budget":           {set: fields{"spec.budget.memory": "-1Gi"}, want: wantBudget},
	"budget that is no number":  {set: fields{"spec.budget.memory": "much"}, want: "spec.budget.memory: Invalid value"},
	"budget of too few objects": {set: fields{"spec.budget.objects": int64(99)}, want: "spec.budget.objects: Invalid value: 99: spec.budget.objects in body should be greater than or equal to 100"},
	"budget of too many":        {set: fields{"spec.budget.objects": int64(1_000_001)}, want: "spec.budget.objects: Invalid value: 1000001: spec.budget.objects in body should be less than or equal to 1000000"},

	"no Secret":                      {set: fields{"spec.kubeconfigSecretRef": nil}, want: "spec.kubeconfigSecretRef: Required value"},
	"no name of the Secret":          {set: fields{"spec.kubeconfigSecretRef": object{}}, want: "spec.kubeconfigSecretRef.name: Required value"},
	"empty name of the Secret":       {set: fields{"spec.kubeconfigSecretRef.name": ""}, want: "spec.kubeconfigSecretRef.name: Invalid value: \"\": spec.kubeconfigSecretRef.name in body should be at least 1 chars long"},
	"name of the Secret too long":    {set: fields{"spec.kubeconfigSecretRef.name": long(254)}, want: "spec.kubeconfigSecretRef.name: Too long: may not be more than 253 bytes"},
	"Secret of another namespace":    {set: fields{"spec.kubeconfigSecretRef.name": "kube-system/x"}, want: `spec.kubeconfigSecretRef.name: Invalid value: "kube-system/x": name must be the name of a Secret: a DNS subdomain`},
	"empty key of the Secret":        {set: fields{"spec.kubeconfigSecretRef.key": ""}, want: "spec.kubeconfigSecretRef.key: Invalid value: \"\": spec.kubeconfigSecretRef.key in body should be at least 1 chars long"},
	"key of the Secret too long":     {set: fields{"spec.kubeconfigSecretRef.key": long(254)}, want: "spec.kubeconfigSecretRef.key: Too long: may not be more than 253 bytes"},
	"key of the Secret with a /":     {set: fields{"spec.kubeconfigSecretRef.key": "a/b"}, want: `spec.kubeconfigSecretRef.key: Invalid value: "a/b": key must be a key of a Secret: letters, digits, '-', '_' and '.'`},
	"another Secret, another key":    {change: fields{"spec.kubeconfigSecretRef": object{"name": "other", "key": "other"}}},
	"no strategy at all":             {set: fields{"spec.remoteNamespaces.strategies": list{}}, want: "spec.remoteNamespaces.strategies: Invalid value: 0: spec.remoteNamespaces.strategies in body should have at least 1 items"},
	"a strategy twice":               {set: fields{"spec.remoteNamespaces.strategies": texts("DefaultName", "DefaultName")}, want: `spec.remoteNamespaces.strategies[1]: Duplicate value: "DefaultName"`},
	"an unknown strategy":            {set: fields{"spec.remoteNamespaces.strategies": texts("Any")}, want: `spec.remoteNamespaces.strategies[0]: Unsupported value: "Any"`},
	"namePattern of 256 characters":  {set: fields{"spec.remoteNamespaces.namePattern": long(256)}},
	"namePattern of 257 characters":  {set: fields{"spec.remoteNamespaces.namePattern": long(257)}, want: "spec.remoteNamespaces.namePattern: Too long: may not be more than 256 bytes"},
	"namePattern with a hole":        {set: fields{"spec.remoteNamespaces.namePattern": "(team"}, want: "error parsing regexp: missing closing ): `(team` evaluating rule: namePattern must be a regular expression (RE2)"},
	"namePattern of a bracket":       {set: fields{"spec.remoteNamespaces.namePattern": "["}, want: "error parsing regexp: missing closing ]: `[` evaluating rule: namePattern must be a regular expression (RE2)"},
	"namePattern empty":              {set: fields{"spec.remoteNamespaces.namePattern": ""}, want: `spec.remoteNamespaces.namePattern: Invalid value: "": spec.remoteNamespaces.namePattern in body should be at least 1 chars long`},
	"more strategies than there are": {set: fields{"spec.remoteNamespaces.strategies": texts("DefaultName", "EnforceSameName", "SelectedName", "DefaultName")}, want: "spec.remoteNamespaces.strategies: Too many: 4"},
	"namePattern of everything":      {set: fields{"spec.remoteNamespaces.namePattern": ".*"}, want: `spec.remoteNamespaces.namePattern: Invalid value: ".*": namePattern must not match default, kube-system or spillway-provider: that would allow too much`},
	"namePattern of kube":            {set: fields{"spec.remoteNamespaces.namePattern": "kube-.*"}, want: "namePattern must not match default, kube-system or spillway-provider"},
	"namePattern of the provider's":  {set: fields{"spec.remoteNamespaces.namePattern": "x|spillway-[a-z]+"}, want: "namePattern must not match default, kube-system or spillway-provider"},
	"namePattern that is not closed": {set: fields{"spec.remoteNamespaces.namePattern": "team)|(.*"}, want: "spec.remoteNamespaces.namePattern: Invalid value: "},
	"namePattern in capitals":        {set: fields{"spec.remoteNamespaces.namePattern": "TEAM-"}, want: `spec.remoteNamespaces.namePattern: Invalid value: "TEAM-": namePattern must be able to match a DNS label: lower-case letters, digits and '-'`},

	"mountNamespace set later":      {change: fields{"spec.mountNamespace": "spillover"}},
	"mountNamespace changed":        {set: fields{"spec.mountNamespace": "a"}, change: fields{"spec.mountNamespace": "b"}, want: "spec.mountNamespace: Invalid value: mountNamespace is immutable once set"},
	"mountNamespace removed":        {set: fields{"spec.mountNamespace": "a"}, change: fields{"spec.mountNamespace": nil}, want: "spec.mountNamespace: Invalid value: mountNamespace is immutable once set"},
	"mountNamespace empty":          {set: fields{"spec.mountNamespace": ""}, want: `spec.mountNamespace: Invalid value: "": spec.mountNamespace in body should be at least 1 chars long`},
	"mountNamespace too long":       {set: fields{"spec.mountNamespace": long(64)}, want: "spec.mountNamespace: Too long: may not be more than 63 bytes"},
	"mountNamespace in capitals":    {set: fields{"spec.mountNamespace": "Spill"}, want: `spec.mountNamespace: Invalid value: "Spill": mountNamespace ` + wantLabel},
	"mountNamespace default":        {set: fields{"spec.mountNamespace": "default"}, want: `spec.mountNamespace: Invalid value: "default": mountNamespace must not be 'default' or begin with 'kube-': the provider uses those`},
	"mountNamespace kube-system":    {set: fields{"spec.mountNamespace": "kube-system"}, want: `spec.mountNamespace: Invalid value: "kube-system": mountNamespace must not be 'default' or begin with 'kube-': the provider uses those`},
	"mountNamespace like a default": {set: fields{"spec.mountNamespace": "defaults"}},

	"network, isolated":            {set: fields{"spec.network": object{"mode": "Isolated"}}},
	"network with nothing":         {set: fields{"spec.network": object{}}},
	"network, unknown mode":        {set: fields{"spec.network": object{"mode": "Bridged"}}, want: `spec.network.mode: Unsupported value: "Bridged": supported values: "Isolated", "Routed"`},
	"network, routed":              {set: fields{"spec.network": routed("10.8.0.0/14", "fd00:8::/48", "192.168.7.1/32")}},
	"network, most ranges":         {set: fields{"spec.network": routed(ranges(16)...)}},
	"network, longest ranges":      {set: fields{"spec.network": routed(longRanges(16)...)}},
	"network, too many ranges":     {set: fields{"spec.network": routed(ranges(17)...)}, want: "spec.network.podCIDRs: Too many: 17: must have at most 16 items"},
	"network, routed to nowhere":   {set: fields{"spec.network": object{"mode": "Routed"}}, want: "spec.network.podCIDRs: Required value: podCIDRs are required with mode Routed: Spillway shows only addresses in them"},
	"network, an empty list":       {set: fields{"spec.network": routed()}, want: "spec.network.podCIDRs: Invalid value: 0: spec.network.podCIDRs in body should have at least 1 items"},
	"network, ranges isolated":     {set: fields{"spec.network": object{"mode": "Isolated", "podCIDRs": texts("10.8.0.0/14")}}, want: "spec.network.podCIDRs: Forbidden: podCIDRs are for mode Routed only"},
	"network, ranges without mode": {set: fields{"spec.network": object{"podCIDRs": texts("10.8.0.0/14")}}, want: "spec.network.podCIDRs: Forbidden: podCIDRs are for mode Routed only"},
	"network, routed later":        {change: fields{"spec.network": routed("10.8.0.0/14")}},
	"network, isolated later":      {set: fields{"spec.network": routed("10.8.0.0/14")}, change: fields{"spec.network": nil}},
	"network, no range":            {set: fields{"spec.network": routed("10.8.0.0/14", "pods")}, want: `spec.network.podCIDRs[1]: Invalid value: "pods": podCIDRs must be canonical, such as 10.8.0.0/14 or fd00:8::/48; "pods" is not`},
	"network, an address":          {set: fields{"spec.network": routed("10.8.0.1")}, want: `podCIDRs must be canonical, such as 10.8.0.0/14 or fd00:8::/48; "10.8.0.1" is not`},
	"network, an empty range":      {set: fields{"spec.network": routed("")}, want: "spec.network.podCIDRs[0] in body should be at least 1 chars long"},
	"network, an endless range":    {set: fields{"spec.network": routed(long(44))}, want: "spec.network.podCIDRs[0]: Too long: may not be more than 43 bytes"},
	"network, bits beyond":         {set: fields{"spec.network": routed("10.9.1.0/14")}, want: `"10.9.1.0/14" is not`},
	"network, in capitals":         {set: fields{"spec.network": routed("FD00:8::/48")}, want: `"FD00:8::/48" is not`},
	"network, leading zeros":       {set: fields{"spec.network": routed("010.8.0.0/14")}, want: `"010.8.0.0/14" is not`},
	"network, IPv4-mapped":         {set: fields{"spec.network": routed("::ffff:10.8.0.0/112")}, want: `"::ffff:10.8.0.0/112" is not`},
	"network, all of IPv4":         {set: fields{"spec.network": routed("0.0.0.0/0")}, want: wantNoPods("0.0.0.0/0")},
	"network, all of IPv6":         {set: fields{"spec.network": routed("::/0")}, want: wantNoPods("::/0")},
	"network, unspecified":         {set: fields{"spec.network": routed("0.0.0.0/32")}, want: wantNoPods("0.0.0.0/32")},
	"network, loopback":            {set: fields{"spec.network": routed("127.1.0.0/16")}, want: wantNoPods("127.1.0.0/16")},
	"network, loopback within":     {set: fields{"spec.network": routed("126.0.0.0/7")}, want: wantNoPods("126.0.0.0/7")},
	"network, loopback of IPv6":    {set: fields{"spec.network": routed("::1/128")}, want: wantNoPods("::1/128")},
	"network, link-local":          {set: fields{"spec.network": routed("169.254.169.254/32")}, want: wantNoPods("169.254.169.254/32")},
	"network, link-local of IPv6":  {set: fields{"spec.network": routed("fe80::/64")}, want: wantNoPods("fe80::/64")},
	"network, multicast":           {set: fields{"spec.network": routed("224.0.0.0/4")}, want: wantNoPods("224.0.0.0/4")},
	"network, multicast of IPv6":   {set: fields{"spec.network": routed("ff02::/16")}, want: wantNoPods("ff02::/16")},
	"network, one range twice":     {set: fields{"spec.network": routed("10.8.0.0/14", "10.8.0.0/14")}, want: "spec.network.podCIDRs: Invalid value: podCIDRs must not overlap each other"},
	"network, one in another":      {set: fields{"spec.network": routed("10.8.0.0/14", "fd00:8::/48", "10.9.0.0/16")}, want: "spec.network.podCIDRs: Invalid value: podCIDRs must not overlap each other"},
	"network, shared, too many":    {set: fields{"spec.network": object{"sharedNamespaces": texts(strings.Fields(strings.Repeat("a ", 33))...)}}, want: "spec.network.sharedNamespaces: Too many: 33: must have at most 32 items"},
	"network, shared, no name":     {set: fields{"spec.network": object{"sharedNamespaces": texts("")}}, want: "spec.network.sharedNamespaces[0] in body should be at least 1 chars long"},
	"network, shared, too long":    {set: fields{"spec.network": object{"sharedNamespaces": texts(long(64))}}, want: "spec.network.sharedNamespaces[0]: Too long: may not be more than 63 bytes"},
	"network, shared, in capitals": {set: fields{"spec.network": object{"sharedNamespaces": texts("Monitoring")}}, want: `spec.network.sharedNamespaces[0]: Invalid value: "Monitoring"`},

	"unknown deletionPolicy": {set: fields{"spec.deletionPolicy": "Keep"}, want: `spec.deletionPolicy: Unsupported value: "Keep": supported values: "Drain", "Orphan"`},
	"all events":             {set: fields{"spec.events": "All"}, change: fields{"spec.events": "Warnings"}},
	"unknown events":         {set: fields{"spec.events": "Normal"}, want: `spec.events: Unsupported value: "Normal": supported values: "All", "Warnings"`},
	"deletionPolicy changed": {change: fields{"spec.deletionPolicy": "Orphan"}},

	"label with an invalid key":          {set: fields{"spec.virtualNode.labels": object{"a b": "c"}}, want: "spec.virtualNode.labels: Invalid value: labels must have valid keys, such as topology.kubernetes.io/region"},
	"label with an endless key":          {set: fields{"spec.virtualNode.labels": object{long(64): "c"}}, want: "spec.virtualNode.labels: Invalid value: labels must have valid keys, such as topology.kubernetes.io/region"},
	"label with an invalid value":        {set: fields{"spec.virtualNode.labels": object{"a": "b c"}}, want: "spec.virtualNode.labels: Invalid value: labels must have valid values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"},
	"label with an endless value":        {set: fields{"spec.virtualNode.labels": object{"a": long(64)}}, want: "spec.virtualNode.labels.a: Too long: may not be more than 63 bytes"},
	"label of Spillway's":                {set: fields{"spec.virtualNode.labels": object{"spillway.io/cluster": "us"}}, want: "spec.virtualNode.labels: Invalid value: labels under spillway.io/ and kubernetes.io/hostname are set by Spillway"},
	"label kubernetes.io/hostname":       {set: fields{"spec.virtualNode.labels": object{"kubernetes.io/hostname": "us"}}, want: "spec.virtualNode.labels: Invalid value: labels under spillway.io/ and kubernetes.io/hostname are set by Spillway"},
	"most labels":                        {set: fields{"spec.virtualNode.labels": many(32, "a")}},
	"too many labels":                    {set: fields{"spec.virtualNode.labels": many(33, "a")}, want: "spec.virtualNode.labels: Too many: 33: must have at most 32 items"},
	"annotation with an invalid key":     {set: fields{"spec.virtualNode.annotations": object{"-": "c"}}, want: "spec.virtualNode.annotations: Invalid value: annotations must have valid keys, such as example.com/contact"},
	"annotation of Spillway's":           {set: fields{"spec.virtualNode.annotations": object{"spillway.io/x": "c"}}, want: "spec.virtualNode.annotations: Invalid value: annotations under spillway.io/ are set by Spillway"},
	"annotation with an endless value":   {set: fields{"spec.virtualNode.annotations": object{"a": long(1025)}}, want: "spec.virtualNode.annotations.a: Too long: may not be more than 1024 bytes"},
	"too many annotations":               {set: fields{"spec.virtualNode.annotations": many(33, "a")}, want: "spec.virtualNode.annotations: Too many: 33: must have at most 32 items"},
	"taint without a key":                {set: fields{"spec.virtualNode.taints": list{object{"effect": "NoSchedule"}}}, want: "spec.virtualNode.taints[0].key: Required value"},
	"taint with an empty key":            {set: fields{"spec.virtualNode.taints": list{object{"key": "", "effect": "NoSchedule"}}}, want: "spec.virtualNode.taints[0].key: Invalid value: \"\": spec.virtualNode.taints[0].key in body should be at least 1 chars long"},
	"taint with an endless key":          {set: fields{"spec.virtualNode.taints": list{object{"key": long(318), "effect": "NoSchedule"}}}, want: "spec.virtualNode.taints[0].key: Too long: may not be more than 317 bytes"},
	"taint with an invalid key":          {set: fields{"spec.virtualNode.taints": list{object{"key": "a b", "effect": "NoSchedule"}}}, want: `spec.virtualNode.taints[0].key: Invalid value: "a b": key must be a taint key, such as example.com/gpu`},
	"taint of Spillway's":                {set: fields{"spec.virtualNode.taints": list{object{"key": "spillway.io/virtual-node", "effect": "NoSchedule"}}}, want: `spec.virtualNode.taints[0].key: Invalid value: "spillway.io/virtual-node": taints under spillway.io/ are set by Spillway`},
	"taint with an endless value":        {set: fields{"spec.virtualNode.taints": list{object{"key": "a", "value": long(64), "effect": "NoSchedule"}}}, want: "spec.virtualNode.taints[0].value: Too long: may not be more than 63 bytes"},
	"taint with an invalid value":        {set: fields{"spec.virtualNode.taints": list{object{"key": "a", "value": "b c", "effect": "NoSchedule"}}}, want: `spec.virtualNode.taints[0].value: Invalid value: "b c": value must be a label value: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit`},
	"taint without an effect":            {set: fields{"spec.virtualNode.taints": list{object{"key": "a"}}}, want: "spec.virtualNode.taints[0].effect: Required value"},
	"unknown foreignPods":                {set: fields{"spec.virtualNode.foreignPods": "Add"}, want: `spec.virtualNode.foreignPods: Unsupported value: "Add": supported values: "Subtract", "Ignore"`},
	"taint with an unknown effect":       {set: fields{"spec.virtualNode.taints": list{object{"key": "a", "effect": "Never"}}}, want: `spec.virtualNode.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`},
	"too many taints":                    {set: fields{"spec.virtualNode.taints": times(17, object{"key": "a", "effect": "NoSchedule"})}, want: "spec.virtualNode.taints: Too many: 17: must have at most 16 items"},
	"groupBy: three keys":                {set: fields{"spec.virtualNode.groupBy": list{"topology.kubernetes.io/zone", "kubernetes.io/arch", "disk"}}},
	"groupBy: with other labels":         {set: fields{"spec.virtualNode.groupBy": list{"disk"}, "spec.virtualNode.labels": object{"tier": "gold"}}},
	"groupBy: none":                      {set: fields{"spec.virtualNode.groupBy": list{}}, want: "spec.virtualNode.groupBy in body should have at least 1 items"},
	"groupBy: four keys":                 {set: fields{"spec.virtualNode.groupBy": list{"a", "b", "c", "d"}}, want: "spec.virtualNode.groupBy: Too many: 4"},
	"groupBy: a key twice":               {set: fields{"spec.virtualNode.groupBy": list{"a", "a"}}, want: "spec.virtualNode.groupBy[1]: Duplicate value"},
	"groupBy: empty key":                 {set: fields{"spec.virtualNode.groupBy": list{""}}, want: "groupBy must list keys of labels, such as topology.kubernetes.io/zone"},
	"groupBy: no key":                    {set: fields{"spec.virtualNode.groupBy": list{"a b"}}, want: "groupBy must list keys of labels, such as topology.kubernetes.io/zone"},
	"groupBy: a key of Spillway":         {set: fields{"spec.virtualNode.groupBy": list{"spillway.io/cluster"}}, want: wantGroupKey},
	"groupBy: another key of Spillway":   {set: fields{"spec.virtualNode.groupBy": list{"storageclass.spillway.io/fast"}}, want: wantGroupKey},
	"groupBy: a key of labels":           {set: fields{"spec.virtualNode.groupBy": list{"tier"}, "spec.virtualNode.labels": object{"tier": "gold"}}, want: "groupBy must not list a key of labels: virtual nodes have one value of it, their group's or the one in labels"},
	"elastic: max":                       {set: fields{"spec.virtualNode.elastic": object{"max": object{"cpu": int64(200), "memory": "800Gi", "pods": "2000", "example.com/gpu": "8"}, "after": "10m"}}},
	"elastic: groups":                    {set: elasticGroup(object{}, nil)},
	"elastic: nothing":                   {set: fields{"spec.virtualNode.elastic": object{}}, want: "spec.virtualNode.elastic: Invalid value: elastic must set max, or groups"},
	"elastic: no pods":                   {set: fields{"spec.virtualNode.elastic": object{"max": object{"cpu": "2", "memory": "8Gi"}}}, want: "spec.virtualNode.elastic.max: Invalid value: max must list cpu, memory and pods if groupBy is not set"},
	"elastic: nothing of a resource":     {set: fields{"spec.virtualNode.elastic": object{"max": object{"cpu": "0", "memory": "8Gi", "pods": "1"}}}, want: "max must have quantities greater than 0, such as 200 or 800Gi"},
	"elastic: less than nothing":         {set: fields{"spec.virtualNode.elastic": object{"max": object{"cpu": "-1", "memory": "8Gi", "pods": "1"}}}, want: "max must have quantities greater than 0, such as 200 or 800Gi"},
	"elastic: no quantity":               {set: fields{"spec.virtualNode.elastic": object{"max": object{"cpu": "many", "memory": "8Gi", "pods": "1"}}}, want: "spec.virtualNode.elastic.max"},
	"elastic: no resource of nodes":      {set: fields{"spec.virtualNode.elastic": object{"max": object{"cpus": "2"}}}, want: "max must name resources of nodes: cpu, memory, pods, ephemeral-storage, hugepages-SIZE, or one with a domain, such as example.com/gpu"},
	"elastic: after nothing":             {set: elasticGroup(object{}, object{"after": "0s"}), want: "after must be a duration from 1s to 24h, such as 10m"},
	"elastic: after less than nothing":   {set: elasticGroup(object{}, object{"after": "-1m"}), want: "after must be a duration from 1s to 24h, such as 10m"},
	"elastic: after long":                {set: elasticGroup(object{}, object{"after": "25h"}), want: "after must be a duration from 1s to 24h, such as 10m"},
	"elastic: no groups":                 {set: fields{"spec.virtualNode.groupBy": list{"disk"}, "spec.virtualNode.elastic": object{"max": object{"cpu": "2"}}}, want: "spec.virtualNode.elastic: Invalid value: elastic must list groups if groupBy is set, and only then"},
	"elastic: groups without groupBy":    {set: fields{"spec.virtualNode.elastic": object{"groups": list{object{"labels": object{"disk": "a"}, "node": object{"cpu": "2", "memory": "8Gi"}, "maxNodes": int64(1)}}}}, want: "spec.virtualNode.elastic: Invalid value: elastic must list groups if groupBy is set, and only then"},
	"elastic: another key":               {set: elasticGroup(object{"labels": object{"disk": "a", "zone": "b"}}, nil), want: "spec.virtualNode.elastic.groups: Invalid value: labels of groups must have the keys of groupBy, all of them and no others"},
	"elastic: not the key":               {set: elasticGroup(object{"labels": object{"zone": "b"}}, nil), want: "labels of groups must have the keys of groupBy, all of them and no others"},
	"elastic: an invalid value":          {set: elasticGroup(object{"labels": object{"disk": "a b"}}, nil), want: "labels must have valid values"},
	"elastic: no nodes":                  {set: elasticGroup(object{"maxNodes": int64(0)}, nil), want: "maxNodes"},
	"elastic: less than no nodes":        {set: elasticGroup(object{"maxNodes": int64(-1)}, nil), want: "spec.virtualNode.elastic.groups[0].maxNodes: Invalid value: -1"},
	"elastic: a node without memory":     {set: elasticGroup(object{"node": object{"cpu": "2"}}, nil), want: "node must have cpu and memory"},
	"elastic: a node with no CPUs":       {set: elasticGroup(object{"node": object{"cpu": "0", "memory": "1Gi"}}, nil), want: "node must have quantities greater than 0, such as 2 or 8Gi"},
	"elastic: no resource name":          {set: fields{"spec.virtualNode.elastic": object{"max": object{"a b": "2"}}}, want: "max must have valid resource names, such as memory or example.com/gpu"},
	"elastic: too many resources":        {set: fields{"spec.virtualNode.elastic": object{"max": many(25, "1")}}, want: "spec.virtualNode.elastic.max: Too many: 25"},
	"elastic: an empty list":             {set: elasticGroup(object{}, object{"groups": list{}}), want: "spec.virtualNode.elastic.groups in body should have at least 1 items"},
	"elastic: too many groups":           {set: elasticGroup(object{}, object{"groups": times(33, object{"labels": object{"disk": "a"}, "node": object{"cpu": "4", "memory": "8Gi"}, "maxNodes": int64(1)})}), want: "spec.virtualNode.elastic.groups: Too many: 33"},
	"elastic: without labels":            {set: elasticGroup(object{"labels": nil}, nil), want: "spec.virtualNode.elastic.groups[0].labels: Required value"},
	"elastic: too many labels":           {set: elasticGroup(object{"labels": many(4, "a")}, nil), want: "spec.virtualNode.elastic.groups[0].labels: Too many: 4"},
	"elastic: without maxNodes":          {set: elasticGroup(object{"maxNodes": nil}, nil), want: "spec.virtualNode.elastic.groups[0].maxNodes: Required value"},
	"elastic: without a node":            {set: elasticGroup(object{"node": nil}, nil), want: "spec.virtualNode.elastic.groups[0].node: Required value"},
	"elastic: a node with nothing":       {set: elasticGroup(object{"node": object{}}, nil), want: "spec.virtualNode.elastic.groups[0].node: Invalid value"},
	"elastic: a node with too much":      {set: elasticGroup(object{"node": many(25, "1")}, nil), want: "spec.virtualNode.elastic.groups[0].node: Too many: 25"},
	"elastic: a node of no resource":     {set: elasticGroup(object{"node": object{"cpu": "2", "memory": "8Gi", "gpu": "1"}}, nil), want: "node must name resources of nodes: cpu, memory, pods, ephemeral-storage, hugepages-SIZE, or one with a domain, such as example.com/gpu"},
	"elastic: nothing, in other words":   {set: elasticGroup(object{}, object{"max": object{"cpu": "+0"}}), want: "max must have quantities greater than 0, such as 200 or 800Gi"},
	"elastic: nothing, after a point":    {set: elasticGroup(object{}, object{"max": object{"cpu": ".0"}}), want: "max must have quantities greater than 0, such as 200 or 800Gi"},
	"elastic: a group twice":             {set: elasticGroup(object{}, nil, object{"labels": object{"disk": "a"}, "node": object{"cpu": "4", "memory": "8Gi"}, "maxNodes": int64(1)}), want: "groups must have different labels"},
	"capacity: whole number":             {set: fields{"spec.virtualNode.capacity": object{"cpu": int64(0)}}},
	"capacity: quantities":               {set: fields{"spec.virtualNode.capacity": object{"cpu": "64", "example.com/b": "1.5", "pods": "100m", "ephemeral-storage": "1e3", "memory": "16Ti", "hugepages-2Mi": "0"}}},
	"capacity: percentages":              {set: fields{"spec.virtualNode.capacity": object{"cpu": "0%", "memory": "7%", "pods": "99%", "example.com/gpu": "100%"}}},
	"capacity: negative number":          {set: fields{"spec.virtualNode.capacity": object{"cpu": int64(-1)}}, want: wantCapacity},
	"capacity: negative quantity":        {set: fields{"spec.virtualNode.capacity": object{"cpu": "-1Gi"}}, want: wantCapacity},
	"capacity: no quantity":              {set: fields{"spec.virtualNode.capacity": object{"cpu": "lots"}}, want: wantCapacity},
	"capacity: empty":                    {set: fields{"spec.virtualNode.capacity": object{"cpu": ""}}, want: wantCapacity},
	"capacity: more than all":            {set: fields{"spec.virtualNode.capacity": object{"cpu": "101%"}}, want: wantPercentage},
	"capacity: part of a percent":        {set: fields{"spec.virtualNode.capacity": object{"cpu": "1.5%"}}, want: wantPercentage},
	"capacity: negative percentage":      {set: fields{"spec.virtualNode.capacity": object{"cpu": "-1%"}}, want: wantPercentage},
	"capacity: only a percent sign":      {set: fields{"spec.virtualNode.capacity": object{"cpu": "%"}}, want: wantPercentage},
	"capacity: percentage, leading 0":    {set: fields{"spec.virtualNode.capacity": object{"cpu": "050%"}}, want: wantPercentage},
	"capacity: neither number nor text":  {set: fields{"spec.virtualNode.capacity": object{"cpu": true}}, want: "spec.virtualNode.capacity.cpu: Invalid value"},
	"capacity: invalid resource":         {set: fields{"spec.virtualNode.capacity": object{"a b": "1"}}, want: "spec.virtualNode.capacity: Invalid value: capacity must have valid resource names, such as memory or example.com/gpu"},
	"capacity: misspelled resource":      {set: fields{"spec.virtualNode.capacity": object{"cpus": "1"}}, want: wantResource},
	"capacity: requests, as in a quota":  {set: fields{"spec.virtualNode.capacity": object{"cpu": "1", "requests.memory": "1Gi"}}, want: wantResource},
	"capacity: too many resources":       {set: fields{"spec.virtualNode.capacity": many(25, "1")}, want: "spec.virtualNode.capacity: Too many: 25: must have at most 24 items"},
	"deletionTimeout of one second":      {set: fields{"spec.unreachable.deletionTimeout": "1s"}},
	"deletionTimeout too short":          {set: fields{"spec.unreachable.deletionTimeout": "999ms"}, want: `spec.unreachable.deletionTimeout: Invalid value: "999ms": deletionTimeout must be a duration of at least 1s, such as 30m`},
	"deletionTimeout without a unit":     {set: fields{"spec.unreachable.deletionTimeout": "30"}, want: `spec.unreachable.deletionTimeout: Invalid value: "30": deletionTimeout must be a duration of at least 1s, such as 30m`},
	"deletionTimeout in days":            {set: fields{"spec.unreachable.deletionTimeout": "1d"}, want: `spec.unreachable.deletionTimeout: Invalid value: "1d": deletionTimeout must be a duration of at least 1s, such as 30m`},
	"deletionTimeout negative":           {set: fields{"spec.unreachable.deletionTimeout": "-5m"}, want: `spec.unreachable.deletionTimeout: Invalid value: "-5m": deletionTimeout must be a duration of at least 1s, such as 30m`},
	"deletionTimeout beyond measure":     {set: fields{"spec.unreachable.deletionTimeout": "99999999999h"}, want: `spec.unreachable.deletionTimeout: Invalid value: "99999999999h": deletionTimeout must be a duration of at least 1s, such as 30m`},
	"deletionTimeout of many characters": {set: fields{"spec.unreachable.deletionTimeout": strings.Repeat("1m", 17)}, want: "spec.unreachable.deletionTimeout: Too long: may not be more than 32 bytes"},
	"deletionTimeout taken back":         {set: fields{"spec.unreachable.deletionTimeout": "1m"}, change: fields{"spec.unreachable": nil}},
	"a field that there is not":          {set: fields{"spec.pause": true}, want: `strict decoding error: unknown field "spec.pause"`},
}

const (
	atValues = "spec.clusterSelector.nodeSelectorTerms[0].matchExpressions[0]"
	inTiers  = "spec.overflow[1].clusterSelector.nodeSelectorTerms"
	atFields = "spec.clusterSelector.nodeSelectorTerms[0].matchFields[0]"
)

var offloadingCases = map[string]validationCase{
	"the least there can be": {},
	"empty spec":             {set: fields{"spec": object{}}},
	"another name":           {set: fields{"metadata.name": "mine"}, want: "metadata: Invalid value: a NamespaceOffloading must be named 'offloading': there is one per namespace"},

	"DefaultName":              {set: fields{"spec.namespaceMappingStrategy": "DefaultName"}},
	"EnforceSameName":          {set: fields{"spec.namespaceMappingStrategy": "EnforceSameName"}},
	"SelectedName":             {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": "theirs"}},
	"unknown strategy":         {set: fields{"spec.namespaceMappingStrategy": "Any"}, want: `spec.namespaceMappingStrategy: Unsupported value: "Any": supported values: "DefaultName", "EnforceSameName", "SelectedName"`},
	"strategy changed":         {change: fields{"spec.namespaceMappingStrategy": "EnforceSameName"}, want: `spec.namespaceMappingStrategy: Invalid value: "EnforceSameName": namespaceMappingStrategy is immutable: delete and recreate the NamespaceOffloading`},
	"strategy left out":        {change: fields{"spec.namespaceMappingStrategy": nil}},
	"SelectedName left out":    {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": "theirs"}, change: fields{"spec.namespaceMappingStrategy": nil}, want: `spec.namespaceMappingStrategy: Invalid value: "DefaultName": namespaceMappingStrategy is immutable: delete and recreate the NamespaceOffloading`},
	"SelectedName, no name":    {set: fields{"spec.namespaceMappingStrategy": "SelectedName"}, want: "spec.remoteNamespaceName: Required value: remoteNamespaceName is required with namespaceMappingStrategy SelectedName"},
	"DefaultName and a name":   {set: fields{"spec.namespaceMappingStrategy": "DefaultName", "spec.remoteNamespaceName": "theirs"}, want: "spec.remoteNamespaceName: Forbidden: remoteNamespaceName is allowed only with namespaceMappingStrategy SelectedName"},
	"a name, no strategy":      {set: fields{"spec.remoteNamespaceName": "theirs"}, want: "spec.remoteNamespaceName: Forbidden: remoteNamespaceName is allowed only with namespaceMappingStrategy SelectedName"},
	"SelectedName, name empty": {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": ""}, want: `spec.remoteNamespaceName: Invalid value: "": spec.remoteNamespaceName in body should be at least 1 chars long`},
	"name of 63 characters":    {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": long(63)}},
	"name of 64 characters":    {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": long(64)}, want: "spec.remoteNamespaceName: Too long: may not be more than 63 bytes"},
	"name with an underscore":  {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": "a_b"}, want: `spec.remoteNamespaceName: Invalid value: "a_b": remoteNamespaceName ` + wantLabel},
	"name kube-system":         {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": "kube-system"}, want: `spec.remoteNamespaceName: Invalid value: "kube-system": remoteNamespaceName must not be 'default' or begin with 'kube-': the provider uses those`},
	"name default":             {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": "default"}, want: `spec.remoteNamespaceName: Invalid value: "default": remoteNamespaceName must not be 'default' or begin with 'kube-': the provider uses those`},
	"name changed":             {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": "a"}, change: fields{"spec.remoteNamespaceName": "b"}, want: `spec.remoteNamespaceName: Invalid value: "b": remoteNamespaceName is immutable: delete and recreate the NamespaceOffloading`},
	"name removed":             {set: fields{"spec.namespaceMappingStrategy": "SelectedName", "spec.remoteNamespaceName": "a"}, change: fields{"spec.remoteNamespaceName": nil}, want: "spec.remoteNamespaceName: Invalid value: remoteNamespaceName is immutable: it cannot be added or removed"},
	"name added":               {change: fields{"spec.remoteNamespaceName": "a"}, want: "spec.remoteNamespaceName: Invalid value: remoteNamespaceName is immutable: it cannot be added or removed"},

	"pods Local":          {set: fields{"spec.podOffloadingStrategy": "Local"}},
	"pods Remote":         {set: fields{"spec.podOffloadingStrategy": "Remote"}},
	"pods LocalFirst":     {set: fields{"spec.podOffloadingStrategy": "LocalFirst"}},
	"pods elsewhere":      {set: fields{"spec.podOffloadingStrategy": "Elsewhere"}, want: `spec.podOffloadingStrategy: Unsupported value: "Elsewhere": supported values: "Local", "Remote", "LocalAndRemote", "LocalFirst"`},
	"pods change":         {change: fields{"spec.podOffloadingStrategy": "Remote"}},
	"resources: Services": {set: fields{"spec.resources": texts("Services")}},
	"resources: policies": {set: fields{"spec.resources": texts("NetworkPolicies")}},
	"resources: budgets":  {set: fields{"spec.resources": texts("PodDisruptionBudgets")}},
	"resources: none":     {set: fields{"spec.resources": list{}}},
	"resources change":    {change: fields{"spec.resources": list{}}},
	"resources unknown":   {set: fields{"spec.resources": texts("Pods")}, want: `spec.resources[0]: Unsupported value: "Pods": supported values: "Services", "NetworkPolicies", "PodDisruptionBudgets"`},
	"resources twice":     {set: fields{"spec.resources": texts("Services", "Services")}, want: `spec.resources[1]: Duplicate value: "Services"`},
	"resources endless":   {set: fields{"spec.resources": times(17, "Services")}, want: "spec.resources: Too many: 17: must have at most 16 items"},

	"overflow, local first":               {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu"), with(inTier("us"), "after", "1m"))}},
	"overflow, Remote":                    {set: fields{"spec.overflow": tiers(inTier("eu"), inTier("us")), "spec.podOffloadingStrategy": "Remote"}},
	"overflow to all":                     {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": object{}})}},
	"overflow of 8 tiers":                 {set: fields{"spec.overflow": append(tiers(object{"local": true}), times(7, inTier("eu"))...)}},
	"overflow of 9 tiers":                 {set: fields{"spec.overflow": append(tiers(object{"local": true}), times(8, inTier("eu"))...)}, want: "spec.overflow: Too many: 9: must have at most 8 items"},
	"overflow of 9 terms":                 {set: fields{"spec.overflow": append(tiers(object{"local": true}, inTier("eu")), times(2, object{"clusterSelector": selector(times(4, object{"matchExpressions": list{object{"key": "a", "operator": "Exists"}}})...)})...)}, want: "overflow must have at most 8 nodeSelectorTerms in all its tiers together"},
	"overflow of 129 values":              {set: fields{"spec.overflow": append(tiers(object{"local": true}, inTier("eu")), times(2, object{"clusterSelector": term("a", "In", slices.Repeat([]string{"v"}, 64)...)})...)}, want: "overflow must have at most 128 values in all its tiers together"},
	"overflow, none":                      {set: fields{"spec.overflow": list{}}, want: "spec.overflow in body should have at least 1 items"},
	"overflow, local only":                {set: fields{"spec.overflow": tiers(object{"local": true})}, want: "overflow needs a tier with a clusterSelector"},
	"overflow, local later":               {set: fields{"spec.overflow": tiers(inTier("eu"), object{"local": true}), "spec.podOffloadingStrategy": "Remote"}, want: "only the first tier can be local"},
	"overflow, local twice":               {set: fields{"spec.overflow": tiers(object{"local": true}, object{"local": true}, inTier("eu"))}, want: "only the first tier can be local"},
	"overflow, an empty tier":             {set: fields{"spec.overflow": tiers(object{"local": true}, object{})}, want: "a tier needs either local: true or a clusterSelector"},
	"overflow, both in a tier":            {set: fields{"spec.overflow": tiers(with(inTier("eu"), "local", true))}, want: "a tier needs either local: true or a clusterSelector"},
	"overflow, local and Remote":          {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.podOffloadingStrategy": "Remote"}, want: "overflow needs podOffloadingStrategy LocalAndRemote if its first tier is local, and Remote if not"},
	"overflow, not local, both":           {set: fields{"spec.overflow": tiers(inTier("eu"))}, want: "overflow needs podOffloadingStrategy LocalAndRemote if its first tier is local, and Remote if not"},
	"overflow and a clusterSelector":      {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.clusterSelector": term("region", "In", "eu")}, want: "clusterSelector is not allowed with overflow, whose tiers have selectors of their own: set it to null in the write that sets overflow"},
	"overflow, after in the first":        {set: fields{"spec.overflow": tiers(object{"local": true, "after": "1s"}, inTier("eu"))}, want: "after must not be set for the first tier: every pod may use it at once"},
	"overflow, after too short":           {set: fields{"spec.overflow": tiers(object{"local": true}, with(inTier("eu"), "after", "999ms"))}, want: "after must be a duration from 1s to 1h, such as 10s"},
	"overflow, after too long":            {set: fields{"spec.overflow": tiers(object{"local": true}, with(inTier("eu"), "after", "3601s"))}, want: "after must be a duration from 1s to 1h, such as 10s"},
	"overflow, after a while":             {set: fields{"spec.overflow": tiers(object{"local": true}, with(inTier("eu"), "after", "soon"))}, want: "after must be a duration from 1s to 1h, such as 10s"},
	"overflow, after too many characters": {set: fields{"spec.overflow": tiers(object{"local": true}, with(inTier("eu"), "after", strings.Repeat("1s", 17)))}, want: "spec.overflow[1].after: Too long: may not be more than 32 bytes"},
	"overflow, too many terms in a tier":  {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": selector(times(5, object{"matchExpressions": list{object{"key": "a", "operator": "Exists"}}})...)})}, want: inTiers + ": Too many: 5: must have at most 4 items"},
	"overflow, a term without anything":   {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": selector(object{})})}, want: inTiers + "[0].matchExpressions: Required value"},
	"overflow, a term with an empty list": {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": selector(object{"matchExpressions": list{}})})}, want: inTiers + "[0].matchExpressions in body should have at least 1 items"},
	"overflow, a term of too much":        {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": selector(object{"matchExpressions": times(5, object{"key": "a", "operator": "Exists"})})})}, want: inTiers + "[0].matchExpressions: Too many: 5: must have at most 4 items"},
	"overflow, no key":                    {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": selector(object{"matchExpressions": list{object{"operator": "Exists"}}})})}, want: inTiers + "[0].matchExpressions[0].key: Required value"},
	"overflow, no operator":               {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": selector(object{"matchExpressions": list{object{"key": "a"}}})})}, want: inTiers + "[0].matchExpressions[0].operator: Required value"},
	"overflow, unknown operator":          {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": term("a", "Is", "b")})}, want: inTiers + `[0].matchExpressions[0].operator: Unsupported value: "Is"`},
	"overflow, empty key":                 {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": term("", "Exists")})}, want: inTiers + `[0].matchExpressions[0].key in body should be at least 1 chars long`},
	"overflow, key too long":              {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": term(long(318), "Exists")})}, want: inTiers + "[0].matchExpressions[0].key: Too long: may not be more than 317 bytes"},
	"overflow, value too long":            {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": term("a", "In", long(64))})}, want: inTiers + "[0].matchExpressions[0].values[0]: Too long: may not be more than 63 bytes"},
	"overflow, too many values in a term": {set: fields{"spec.overflow": tiers(object{"local": true}, object{"clusterSelector": term("a", "In", slices.Repeat([]string{"v"}, 65)...)})}, want: inTiers + "[0].matchExpressions[0].values: Too many: 65: must have at most 64 items"},
	"return":                              {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.return": object{}}},
	"return, all of it":                   {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.return": object{"after": "24h", "perMinute": int64(60)}}},
	"return, the least":                   {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.return": object{"after": "60s", "perMinute": int64(1)}}},
	"return without overflow":             {set: fields{"spec.return": object{}}, want: "spec.return: Forbidden: return is allowed only with overflow: without tiers, pods have nowhere to return to"},
	"return, overflow taken back":         {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.return": object{}}, change: fields{"spec.overflow": nil}, want: "return is allowed only with overflow"},
	"return, after too short":             {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.return": object{"after": "59s"}}, want: "after must be a duration from 1m to 24h, such as 10m"},
	"return, after too long":              {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.return": object{"after": "24h1s"}}, want: "after must be a duration from 1m to 24h, such as 10m"},
	"return, none in a minute":            {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.return": object{"perMinute": int64(0)}}, want: "spec.return.perMinute in body should be greater than or equal to 1"},
	"return, too many in a minute":        {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.return": object{"perMinute": int64(61)}}, want: "spec.return.perMinute in body should be less than or equal to 60"},
	"unschedulable":                       {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.unschedulable": object{"action": "Replace", "after": "1h"}}},
	"unschedulable, defaults":             {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.unschedulable": object{}}},
	"unschedulable, no overflow":          {set: fields{"spec.unschedulable": object{}}, want: "spec.unschedulable: Forbidden: unschedulable is allowed only with overflow: without tiers, pods tolerate every provider, and would go back to the one that refused them"},
	"unschedulable, another action":       {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.unschedulable": object{"action": "Evict"}}, want: `spec.unschedulable.action: Unsupported value: "Evict": supported values: "Replace", "Wait"`},
	"unschedulable, too soon":             {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.unschedulable": object{"after": "0s"}}, want: "after must be a duration from 1s to 1h, such as 5m"},
	"unschedulable, too late":             {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu")), "spec.unschedulable": object{"after": "61m"}}, want: "after must be a duration from 1s to 1h, such as 5m"},
	"overflow taken back":                 {set: fields{"spec.overflow": tiers(object{"local": true}, inTier("eu"))}, change: fields{"spec.overflow": nil}},

	"API access":                  {set: fields{"spec.apiAccess": object{"serviceAccounts": texts("default", "system.controller")}}},
	"API access of most, longest": {set: fields{"spec.apiAccess": object{"serviceAccounts": names(32)}}},
	"API access of too many":      {set: fields{"spec.apiAccess": object{"serviceAccounts": names(33)}}, want: "spec.apiAccess.serviceAccounts: Too many: 33: must have at most 32 items"},
	"API access of nobody":        {set: fields{"spec.apiAccess": object{"serviceAccounts": list{}}}, want: "spec.apiAccess.serviceAccounts in body should have at least 1 items"},
	"API access, empty":           {set: fields{"spec.apiAccess": object{}}, want: "spec.apiAccess.serviceAccounts: Required value"},
	"API access twice":            {set: fields{"spec.apiAccess": object{"serviceAccounts": texts("a", "a")}}, want: "spec.apiAccess.serviceAccounts[1]: Duplicate value"},
	"API access of everybody":     {set: fields{"spec.apiAccess": object{"serviceAccounts": texts("*")}}, want: `spec.apiAccess.serviceAccounts[0]: Invalid value: "*": must be the name of a ServiceAccount: a DNS subdomain`},
	"API access, name empty":      {set: fields{"spec.apiAccess": object{"serviceAccounts": texts("")}}, want: "spec.apiAccess.serviceAccounts[0] in body should be at least 1 chars long"},
	"API access, name too long":   {set: fields{"spec.apiAccess": object{"serviceAccounts": texts(long(254))}}, want: "spec.apiAccess.serviceAccounts[0]: Too long: may not be more than 253 bytes"},
	"API access taken back":       {set: fields{"spec.apiAccess": object{"serviceAccounts": texts("a")}}, change: fields{"spec.apiAccess": nil}},

	"selector empty":      {set: fields{"spec.clusterSelector": object{}}},
	"selector, no terms":  {set: fields{"spec.clusterSelector": selector()}},
	"selector changed":    {change: fields{"spec.clusterSelector": term("region", "In", "eu")}},
	"selector taken back": {set: fields{"spec.clusterSelector": term("region", "In", "eu")}, change: fields{"spec.clusterSelector": nil}},
	"every operator": {set: fields{"spec.clusterSelector": selector(object{"matchExpressions": list{
		object{"key": "region", "operator": "In", "values": texts("eu", "us")},
		object{"key": "region", "operator": "NotIn", "values": texts("")},
		object{"key": "region", "operator": "Exists"},
		object{"key": "region", "operator": "DoesNotExist", "values": list{}},
		object{"key": "generation", "operator": "Gt", "values": texts("3")},
		object{"key": "generation", "operator": "Lt", "values": texts("7")},
	}, "matchFields": list{
		object{"key": "metadata.name", "operator": "NotIn", "values": texts("spillway-eu")},
	}})}},
	"fields only":              {set: fields{"spec.clusterSelector": field("metadata.name", "In", "spillway-eu")}},
	"most terms":               {set: fields{"spec.clusterSelector": selector(times(8, object{"matchExpressions": times(8, object{"key": "a", "operator": "In", "values": texts("b", "c")})})...)}},
	"too many values in all":   {set: fields{"spec.clusterSelector": selector(times(8, object{"matchExpressions": times(1, object{"key": "a", "operator": "In", "values": times(17, "a")})})...)}, want: "spec.clusterSelector.nodeSelectorTerms: Invalid value: clusterSelector must have at most 128 values in all its terms together"},
	"too many terms":           {set: fields{"spec.clusterSelector": selector(times(9, object{"matchExpressions": list{object{"key": "a", "operator": "Exists"}}})...)}, want: "spec.clusterSelector.nodeSelectorTerms: Too many: 9: must have at most 8 items"},
	"too many expressions":     {set: fields{"spec.clusterSelector": selector(object{"matchExpressions": times(9, object{"key": "a", "operator": "Exists"})})}, want: "spec.clusterSelector.nodeSelectorTerms[0].matchExpressions: Too many: 9: must have at most 8 items"},
	"too many fields":          {set: fields{"spec.clusterSelector": selector(object{"matchFields": times(5, object{"key": "metadata.name", "operator": "In", "values": texts("a")})})}, want: "spec.clusterSelector.nodeSelectorTerms[0].matchFields: Too many: 5: must have at most 4 items"},
	"empty term":               {set: fields{"spec.clusterSelector": selector(object{})}, want: "spec.clusterSelector.nodeSelectorTerms[0]: Invalid value: a term needs at least one of matchExpressions and matchFields: an empty term would select nothing"},
	"term of empty lists":      {set: fields{"spec.clusterSelector": selector(object{"matchExpressions": list{}, "matchFields": list{}})}, want: "spec.clusterSelector.nodeSelectorTerms[0]: Invalid value: a term needs at least one of matchExpressions and matchFields: an empty term would select nothing"},
	"In without values":        {set: fields{"spec.clusterSelector": term("region", "In")}, want: atValues + ": Invalid value: operators In and NotIn need at least one value"},
	"NotIn with no values":     {set: fields{"spec.clusterSelector": term("region", "NotIn", []string{}...)}, want: atValues + ": Invalid value: operators In and NotIn need at least one value"},
	"Exists with values":       {set: fields{"spec.clusterSelector": term("region", "Exists", "eu")}, want: atValues + ": Invalid value: operators Exists and DoesNotExist take no values"},
	"DoesNotExist and values":  {set: fields{"spec.clusterSelector": term("region", "DoesNotExist", "eu")}, want: atValues + ": Invalid value: operators Exists and DoesNotExist take no values"},
	"Gt without values":        {set: fields{"spec.clusterSelector": term("generation", "Gt")}, want: atValues + ": Invalid value: operators Gt and Lt need exactly one value, an integer that is not negative"},
	"Gt with two values":       {set: fields{"spec.clusterSelector": term("generation", "Gt", "1", "2")}, want: atValues + ": Invalid value: operators Gt and Lt need exactly one value, an integer that is not negative"},
	"Gt with a negative value": {set: fields{"spec.clusterSelector": term("generation", "Gt", "-1")}, want: atValues + ": Invalid value: operators Gt and Lt need exactly one value, an integer that is not negative"},
	"Lt with a word":           {set: fields{"spec.clusterSelector": term("generation", "Lt", "new")}, want: atValues + ": Invalid value: operators Gt and Lt need exactly one value, an integer that is not negative"},
	"unknown operator":         {set: fields{"spec.clusterSelector": term("region", "Is", "eu")}, want: atValues + `.operator: Unsupported value: "Is": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`},
	"no operator":              {set: fields{"spec.clusterSelector": selector(object{"matchExpressions": list{object{"key": "a"}}})}, want: atValues + ".operator: Required value"},
	"no key":                   {set: fields{"spec.clusterSelector": selector(object{"matchExpressions": list{object{"operator": "Exists"}}})}, want: atValues + ".key: Required value"},
	"empty key":                {set: fields{"spec.clusterSelector": term("", "Exists")}, want: atValues + `.key: Invalid value: "": ` + atValues + `.key in body should be at least 1 chars long`},
	"key too long":             {set: fields{"spec.clusterSelector": term(long(318), "Exists")}, want: atValues + ".key: Too long: may not be more than 317 bytes"},
	"invalid key":              {set: fields{"spec.clusterSelector": term("a b", "Exists")}, want: atValues + `.key: Invalid value: "a b": key must be a label key, such as topology.kubernetes.io/region`},
	"value too long":           {set: fields{"spec.clusterSelector": term("region", "In", long(64))}, want: atValues + ".values[0]: Too long: may not be more than 63 bytes"},
	"invalid value":            {set: fields{"spec.clusterSelector": term("region", "In", "e u")}, want: atValues + `.values[0]: Invalid value: "e u": values ` + wantLabelValue},
	"most values":              {set: fields{"spec.clusterSelector": term("region", "In", slices.Repeat([]string{"eu"}, 64)...)}},
	"too many values":          {set: fields{"spec.clusterSelector": term("region", "In", slices.Repeat([]string{"eu"}, 65)...)}, want: atValues + ".values: Too many: 65: must have at most 64 items"},
	"another field":            {set: fields{"spec.clusterSelector": field("spec.unschedulable", "In", "true")}, want: atFields + `.key: Unsupported value: "spec.unschedulable": supported values: "metadata.name"`},
	"no field":                 {set: fields{"spec.clusterSelector": selector(object{"matchFields": list{object{"operator": "In", "values": texts("a")}}})}, want: atFields + ".key: Required value"},
	"field exists":             {set: fields{"spec.clusterSelector": field("metadata.name", "Exists", "a")}, want: atFields + `.operator: Unsupported value: "Exists": supported values: "In", "NotIn"`},
	"field, no operator":       {set: fields{"spec.clusterSelector": selector(object{"matchFields": list{object{"key": "metadata.name", "values": texts("a")}}})}, want: atFields + ".operator: Required value"},
	"field, no values":         {set: fields{"spec.clusterSelector": field("metadata.name", "In")}, want: atFields + ".values: Required value"},
	"field, empty values":      {set: fields{"spec.clusterSelector": field("metadata.name", "In", []string{}...)}, want: atFields + ".values: Invalid value: 0: " + atFields + ".values in body should have at least 1 items"},
	"field with two values":    {set: fields{"spec.clusterSelector": field("metadata.name", "In", "a", "b")}, want: atFields + ".values: Too many: 2: must have at most 1 item"},
	"field, value empty":       {set: fields{"spec.clusterSelector": field("metadata.name", "In", "")}, want: atFields + `.values[0]: Invalid value: "": ` + atFields + `.values[0] in body should be at least 1 chars long`},
	"field, value too long":    {set: fields{"spec.clusterSelector": field("metadata.name", "In", long(254))}, want: atFields + ".values[0]: Too long: may not be more than 253 bytes"},
	"field, value no name":     {set: fields{"spec.clusterSelector": field("metadata.name", "In", "A node")}, want: atFields + `.values[0]: Invalid value: "A node": values must be the name of a node: a DNS subdomain`},
}

var mapCases = map[string]validationCase{
	"the least there can be":        {},
	"two namespaces":                {set: fields{"spec.desiredMapping": list{object{"namespace": "a", "remoteNamespace": "a-x"}, object{"namespace": "b", "remoteNamespace": "b-x"}}}},
	"one namespace twice":           {set: fields{"spec.desiredMapping": list{object{"namespace": "a", "remoteNamespace": "a-x"}, object{"namespace": "a", "remoteNamespace": "b-x"}}}, want: `spec.desiredMapping[1]: Duplicate value: {"namespace":"a"}`},
	"no namespace":                  {set: fields{"spec.desiredMapping": list{object{"remoteNamespace": "a-x"}}}, want: "spec.desiredMapping[0].namespace: Required value"},
	"no remote namespace":           {set: fields{"spec.desiredMapping": list{object{"namespace": "a"}}}, want: "spec.desiredMapping[0].remoteNamespace: Required value"},
	"empty namespace":               {set: fields{"spec.desiredMapping": list{object{"namespace": "", "remoteNamespace": "a-x"}}}, want: `spec.desiredMapping[0].namespace: Invalid value: "": spec.desiredMapping[0].namespace in body should be at least 1 chars long`},
	"empty remote namespace":        {set: fields{"spec.desiredMapping": list{object{"namespace": "a", "remoteNamespace": ""}}}, want: `spec.desiredMapping[0].remoteNamespace: Invalid value: "": spec.desiredMapping[0].remoteNamespace in body should be at least 1 chars long`},
	"namespace too long":            {set: fields{"spec.desiredMapping": list{object{"namespace": long(64), "remoteNamespace": "a-x"}}}, want: "spec.desiredMapping[0].namespace: Too long: may not be more than 63 bytes"},
	"remote namespace too long":     {set: fields{"spec.desiredMapping": list{object{"namespace": "a", "remoteNamespace": long(64)}}}, want: "spec.desiredMapping[0].remoteNamespace: Too long: may not be more than 63 bytes"},
	"most namespaces":               {set: fields{"spec.desiredMapping": mappings(10000)}},
	"too many namespaces":           {set: fields{"spec.desiredMapping": mappings(10001)}, want: "spec.desiredMapping: Too many: 10001: must have at most 10000 items"},
	"entries come, change and go":   {set: fields{"spec.desiredMapping": mappings(2)}, change: fields{"spec.desiredMapping": list{object{"namespace": "n0", "remoteNamespace": "other"}}}},
	"entries all go, and spec also": {set: fields{"spec.desiredMapping": mappings(2)}, change: fields{"spec": nil}},
}

func mappings(n int) list {
	l := list{}
	for i := range n {
		name := fmt.Sprint("n", i)
		l = append(l, object{"namespace": name, "remoteNamespace": name})
	}
	return l
}

// kinds maps each kind to its minimal object and to its cases.
var kinds = map[string]struct {
	least fields
	cases map[string]validationCase
}{
	"ClusterBinding": {
		least: fields{"metadata.name": "eu", "spec.clusterID": "eu", "spec.kubeconfigSecretRef.name": "eu-kubeconfig"},
		cases: bindingCases,
	},
	"NamespaceOffloading": {
		least: fields{"metadata.name": "offloading", "metadata.namespace": "default"},
		cases: offloadingCases,
	},
	"NamespaceMap": {
		least: fields{"metadata.name": "eu"},
		cases: mapCases,
	},
}

func TestValidation(t *testing.T) {
	strict := client.WithFieldValidation(server, "Strict")
	for kind, k := range kinds {
		for name, test := range k.cases {
			t.Run(kind+"/"+name, func(t *testing.T) {
				object := build(t, kind, k.least, test.set)
				var err error
				if test.change == nil {
					err = strict.Create(t.Context(), object, client.DryRunAll)
				} else {
					if err := strict.Create(t.Context(), object); err != nil {
						t.Fatalf("creating the object to change: %v", err)
					}
					defer remove(t, object)
					change(t, object, test.change)
					err = strict.Update(t.Context(), object, client.DryRunAll)
				}
				check(t, err, test.want)
			})
		}
	}
}

// check compares an error with the wanted message.
func check(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %.2000s", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want it refused with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with\n\t%.2000s\nwant\n\t%s", err, want)
	}
}

func build(t *testing.T, kind string, sets ...fields) *unstructured.Unstructured {
	t.Helper()
	built := &unstructured.Unstructured{Object: object{}}
	built.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	for _, set := range sets {
		change(t, built, set)
	}
	return built
}

func change(t *testing.T, changed *unstructured.Unstructured, set fields) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		path := pathOf(name)
		if set[name] == nil {
			unstructured.RemoveNestedField(changed.Object, path...)
		} else if err := unstructured.SetNestedField(changed.Object, set[name], path...); err != nil {
			t.Fatal(err)
		}
	}
}

// pathOf splits a path at its dots, except at dots behind a backslash.
func pathOf(name string) []string {
	path := strings.Split(strings.ReplaceAll(name, `\.`, "\x00"), ".")
	for i := range path {
		path[i] = strings.ReplaceAll(path[i], "\x00", ".")
	}
	return path
}

func remove(t *testing.T, object client.Object) {
	t.Helper()
	if err := server.Delete(t.Context(), object); err != nil {
		t.Errorf("cleaning up: %v", err)
	}
}

// indices match the part of a path that a message has and a schema has not.
var indices = regexp.MustCompile(`\[\d+\]`)

// TestEveryRuleHasACase walks the schemas of the CRDs. So nobody can add a rule without a case that
// shows the message that a user sees.
func TestEveryRuleHasACase(t *testing.T) {
	for kind, k := range kinds {
		var wants []string
		for _, c := range k.cases {
			if c.want != "" {
				wants = append(wants, indices.ReplaceAllString(c.want, "[]"))
			}
		}
		covered := func(text string) bool {
			return slices.ContainsFunc(wants, func(want string) bool { return strings.Contains(want, text) })
		}
		schema := schemaOf(t, kind)
		for _, rule := range schema.XValidations {
			if !covered(rule.Message) {
				t.Errorf("%s: no case breaks the rule %q", kind, rule.Message)
			}
		}
		spec := schema.Properties["spec"]
		walk("spec", &spec, func(path string, s *apiextensionsv1.JSONSchemaProps) {
			for _, text := range messagesOf(path, s) {
				if !covered(text) {
					t.Errorf("%s: no case is refused with %q", kind, text)
				}
			}
		})
	}
}

func schemaOf(t *testing.T, kind string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	file := filepath.Join(root, "config", "crd", "bases", "offloading.spillway.io_"+strings.ToLower(kind)+"s.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// walk calls visit with the schema and each schema below it, and with their paths.
func walk(path string, s *apiextensionsv1.JSONSchemaProps, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, s)
	for name, property := range s.Properties {
		walk(path+"."+name, &property, visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(path+"[]", s.Items.Schema, visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(path, s.AdditionalProperties.Schema, visit)
	}
}

// messagesOf returns parts of the API server's messages, one for each way to violate a schema.
func messagesOf(path string, s *apiextensionsv1.JSONSchemaProps) []string {
	var messages []string
	for _, rule := range s.XValidations {
		messages = append(messages, rule.Message)
	}
	for _, name := range s.Required {
		messages = append(messages, path+"."+name+": Required value")
	}
	if len(s.Enum) > 0 {
		messages = append(messages, path+": Unsupported value")
	}
	if s.MaxLength != nil {
		// The path is left out, because in the message it contains the key of a map.
		messages = append(messages, fmt.Sprintf("Too long: may not be more than %d bytes", *s.MaxLength))
	}
	if s.MinLength != nil {
		messages = append(messages, fmt.Sprintf("%s in body should be at least %d chars long", path, *s.MinLength))
	}
	if s.MinItems != nil {
		messages = append(messages, fmt.Sprintf("%s in body should have at least %d items", path, *s.MinItems))
	}
	if s.MaxItems != nil {
		messages = append(messages, fmt.Sprintf("%s: Too many: %d", path, *s.MaxItems+1))
	}
	if s.MaxProperties != nil {
		messages = append(messages, fmt.Sprintf("%s: Too many: %d", path, *s.MaxProperties+1))
	}
	if s.Pattern != "" {
		messages = append(messages, path+": Invalid value")
	}
	return messages
}

func TestDefaults(t *testing.T) {
	tests := map[string]struct {
		kind string
		set  fields
		want object
	}{
		"ClusterBinding": {
			kind: "ClusterBinding",
			want: object{
				"clusterID":           "eu",
				"kubeconfigSecretRef": object{"name": "eu-kubeconfig", "key": "kubeconfig"},
				"deletionPolicy":      "Drain",
			},
		},
		"NamespaceOffloading without a spec": {
			kind: "NamespaceOffloading",
			want: object{"namespaceMappingStrategy": "DefaultName", "podOffloadingStrategy": "LocalAndRemote", "resources": texts("Services", "NetworkPolicies")},
		},
		"NamespaceOffloading with an empty spec": {
			kind: "NamespaceOffloading",
			set:  fields{"spec": object{}},
			want: object{"namespaceMappingStrategy": "DefaultName", "podOffloadingStrategy": "LocalAndRemote", "resources": texts("Services", "NetworkPolicies")},
		},
		"NamespaceOffloading with values of its own": {
			kind: "NamespaceOffloading",
			set:  fields{"spec.namespaceMappingStrategy": "EnforceSameName", "spec.podOffloadingStrategy": "Local"},
			want: object{"namespaceMappingStrategy": "EnforceSameName", "podOffloadingStrategy": "Local", "resources": texts("Services", "NetworkPolicies")},
		},
		"NamespaceOffloading that sends nothing else than pods": {
			kind: "NamespaceOffloading",
			set:  fields{"spec.resources": list{}},
			want: object{"namespaceMappingStrategy": "DefaultName", "podOffloadingStrategy": "LocalAndRemote", "resources": list{}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			created := build(t, test.kind, kinds[test.kind].least, test.set)
			if err := server.Create(t.Context(), created, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, created.Object["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}
