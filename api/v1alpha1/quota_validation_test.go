package v1alpha1_test

import (
	"fmt"
	"maps"
)

func init() { maps.Copy(bindingCases, quotaCases) }

const (
	wantHard    = "hard must name resources of pods: pods, cpu, memory, ephemeral-storage, hugepages-SIZE, one with a domain, such as nvidia.com/gpu, or limits.cpu, limits.memory or limits.ephemeral-storage"
	wantNatural = "hard must have quantities that are not negative, such as 10 or 64Gi"
)

// quota returns an item of spec.quota that limits one resource.
func quota(name, resource string, hard any) object {
	return object{"name": name, "hard": object{resource: hard}}
}

// quotaOf returns an item of spec.quota with a namespaceSelector.
func quotaOf(selector object) list {
	q := quota("a", "cpu", "1")
	q["namespaceSelector"] = selector
	return list{q}
}

func whose(key, operator string, values ...string) object {
	r := object{"key": key, "operator": operator}
	if values != nil {
		r["values"] = texts(values...)
	}
	return object{"matchExpressions": list{r}}
}

// largestQuotas has as much of everything as there may be.
func largestQuotas(n int) list {
	var all list
	for i := range n {
		hard, labels := object{}, object{}
		for j := range 2 {
			hard[fmt.Sprintf("%s.com/%02d%s", long(60), j, long(61))] = "1000000000Gi"
		}
		for j := range 8 {
			labels[fmt.Sprintf("%s.com/%02d%s", long(240), j, long(60))] = long(63)
		}
		r := object{"key": long(240) + ".com/" + long(63), "operator": "In", "values": times(16, long(63))}
		all = append(all, object{"name": fmt.Sprintf("team-%02d", i), "hard": hard, "namespaceSelector": object{"matchLabels": labels, "matchExpressions": times(4, r)}})
	}
	return all
}

var quotaCases = map[string]validationCase{
	"quotas": {set: fields{"spec.quota": list{
		object{"name": "all", "hard": object{"pods": int64(0), "requests.cpu": "100", "limits.memory": "1Ti", "requests.nvidia.com/gpu": int64(8), "hugepages-2Mi": "1Gi", "requests.hugepages-1Gi": "4Gi", "ephemeral-storage": "1.5Gi"}},
		object{"name": "team-a", "hard": object{"cpu": "1500m", "nvidia.com/gpu": "2"}, "namespaceSelector": whose("example.com/team", "In", "a", "b")},
		object{"name": "rest", "hard": object{"cpu": int64(1)}, "namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": "rest", "tier": ""}}},
		object{"name": "none", "hard": object{"cpu": "1"}, "namespaceSelector": object{}},
	}}},
	"most quotas, and longest":               {set: fields{"spec.quota": largestQuotas(32)}},
	"too many quotas":                        {set: fields{"spec.quota": largestQuotas(33)}, want: "spec.quota: Too many: 33: must have at most 32 items"},
	"quotas of too many resources":           {set: fields{"spec.quota": list{object{"name": "a", "hard": many(16, "1")}, object{"name": "b", "hard": many(16, "1")}, object{"name": "c", "hard": many(16, "1")}, object{"name": "d", "hard": many(16, "1")}, quota("e", "cpu", "1")}}, want: "spec.quota: Invalid value: quota must have at most 64 resources in all its items together"},
	"quota twice":                            {set: fields{"spec.quota": list{quota("a", "cpu", "1"), quota("a", "cpu", "2")}}, want: "spec.quota[1]: Duplicate value"},
	"quota without a name":                   {set: fields{"spec.quota": list{object{"hard": object{"cpu": "1"}}}}, want: "spec.quota[0].name: Required value"},
	"quota with an empty name":               {set: fields{"spec.quota": list{quota("", "cpu", "1")}}, want: "spec.quota[0].name in body should be at least 1 chars long"},
	"quota with an endless name":             {set: fields{"spec.quota": list{quota(long(64), "cpu", "1")}}, want: "spec.quota[0].name: Too long: may not be more than 63 bytes"},
	"quota in capitals":                      {set: fields{"spec.quota": list{quota("Team", "cpu", "1")}}, want: `spec.quota[0].name: Invalid value: "Team": name ` + wantLabel},
	"quota of nothing":                       {set: fields{"spec.quota": list{object{"name": "a"}}}, want: "spec.quota[0].hard: Required value"},
	"quota of no resource":                   {set: fields{"spec.quota": list{object{"name": "a", "hard": object{}}}}, want: "spec.quota[0].hard in body should have at least 1 properties"},
	"quota of too many resources":            {set: fields{"spec.quota": list{object{"name": "a", "hard": many(17, "1")}}}, want: "spec.quota[0].hard: Too many: 17"},
	"quota below zero":                       {set: fields{"spec.quota": list{quota("a", "cpu", "-1")}}, want: "spec.quota[0].hard: Invalid value: " + wantNatural},
	"quota below zero, a number":             {set: fields{"spec.quota": list{quota("a", "pods", int64(-1))}}, want: "spec.quota[0].hard: Invalid value: " + wantNatural},
	"quota that is no quantity":              {set: fields{"spec.quota": list{quota("a", "cpu", "many")}}, want: "spec.quota[0].hard.cpu: Invalid value"},
	"quota of an unknown resource":           {set: fields{"spec.quota": list{quota("a", "gpus", "1")}}, want: "spec.quota[0].hard: Invalid value: " + wantHard},
	"quota of objects":                       {set: fields{"spec.quota": list{quota("a", "services", "1")}}, want: wantHard},
	"quota of objects that are counted":      {set: fields{"spec.quota": list{quota("a", "count/pods", "1")}}, want: wantHard},
	"quota of limits of a device":            {set: fields{"spec.quota": list{quota("a", "limits.nvidia.com/gpu", "1")}}, want: wantHard},
	"quota of Kubernetes' own":               {set: fields{"spec.quota": list{quota("a", "requests.kubernetes.io/cpu", "1")}}, want: wantHard},
	"quota of hugepages of no size":          {set: fields{"spec.quota": list{quota("a", "hugepages-abc", "1")}}, want: wantHard},
	"quota of a long name":                   {set: fields{"spec.quota": list{quota("a", long(68)+".com/"+long(60), "1")}}, want: "hard must have valid resource names of at most 128 characters"},
	"quota of no name of a resource":         {set: fields{"spec.quota": list{quota("a", "nvidia.com/", "1")}}, want: "hard must have valid resource names of at most 128 characters, such as memory or nvidia.com/gpu"},
	"quota of no label":                      {set: fields{"spec.quota": quotaOf(object{"matchLabels": object{"a b": "c"}})}, want: "matchLabels must have valid keys, such as example.com/team"},
	"quota of no value of a label":           {set: fields{"spec.quota": quotaOf(object{"matchLabels": object{"a": "b c"}})}, want: "matchLabels must have valid values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"},
	"quota of an endless value":              {set: fields{"spec.quota": quotaOf(object{"matchLabels": object{"a": long(64)}})}, want: "Too long: may not be more than 63 bytes"},
	"quota of too many labels":               {set: fields{"spec.quota": quotaOf(object{"matchLabels": many(9, "a")})}, want: "spec.quota[0].namespaceSelector.matchLabels: Too many: 9"},
	"quota of too many requirements":         {set: fields{"spec.quota": quotaOf(object{"matchExpressions": times(5, object{"key": "a", "operator": "Exists"})})}, want: "spec.quota[0].namespaceSelector.matchExpressions: Too many: 5"},
	"quota of a requirement without a key":   {set: fields{"spec.quota": quotaOf(object{"matchExpressions": list{object{"operator": "Exists"}}})}, want: "spec.quota[0].namespaceSelector.matchExpressions[0].key: Required value"},
	"quota of a requirement, empty key":      {set: fields{"spec.quota": quotaOf(whose("", "Exists"))}, want: "spec.quota[0].namespaceSelector.matchExpressions[0].key in body should be at least 1 chars long"},
	"quota of a requirement, endless key":    {set: fields{"spec.quota": quotaOf(whose(long(318), "Exists"))}, want: "Too long: may not be more than 317 bytes"},
	"quota of a requirement, no key":         {set: fields{"spec.quota": quotaOf(whose("a/b/c", "Exists"))}, want: "key must be a label key, such as example.com/team"},
	"quota of a requirement, no operator":    {set: fields{"spec.quota": quotaOf(object{"matchExpressions": list{object{"key": "a"}}})}, want: "spec.quota[0].namespaceSelector.matchExpressions[0].operator: Required value"},
	"quota of a requirement, other operator": {set: fields{"spec.quota": quotaOf(whose("a", "Gt", "1"))}, want: "spec.quota[0].namespaceSelector.matchExpressions[0].operator: Unsupported value"},
	"quota of a requirement, no values":      {set: fields{"spec.quota": quotaOf(whose("a", "In"))}, want: "spec.quota[0].namespaceSelector.matchExpressions[0]: Invalid value: operators In and NotIn need at least one value"},
	"quota of a requirement, values":         {set: fields{"spec.quota": quotaOf(whose("a", "Exists", "b"))}, want: "spec.quota[0].namespaceSelector.matchExpressions[0]: Invalid value: operators Exists and DoesNotExist take no values"},
	"quota of a requirement, 17 values":      {set: fields{"spec.quota": quotaOf(object{"matchExpressions": list{object{"key": "a", "operator": "In", "values": times(17, "b")}}})}, want: "spec.quota[0].namespaceSelector.matchExpressions[0].values: Too many: 17"},
	"quota of a requirement, long value":     {set: fields{"spec.quota": quotaOf(whose("a", "In", long(64)))}, want: "spec.quota[0].namespaceSelector.matchExpressions[0].values[0]: Too long: may not be more than 63 bytes"},
	"quota of a requirement, no value":       {set: fields{"spec.quota": quotaOf(whose("a", "In", "b c"))}, want: "values " + wantLabelValue},
}
