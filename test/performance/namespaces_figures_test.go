package performance

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/requests"
)

// offloaded is a correct phase of 100 offloadings to three providers; verb is what happens to the remote
// namespaces.
func offloaded(verb string) phase {
	key := func(cluster, verb, resource, subresource string) requests.Key {
		return requests.Key{Cluster: cluster, Verb: verb, Resource: resource, Subresource: subresource, Class: requests.Work}
	}
	p := phase{n: 100, providers: 3, counted: 10900 * time.Millisecond, Figures: requests.Figures{
		Counts: map[requests.Key]requests.Count{
			key("p1", verb, "namespaces", ""):                               {Requests: 300},
			key(consumer, requests.Patch, "namespacemaps", ""):              {Requests: 12},
			key(consumer, requests.Patch, "namespacemaps", "status"):        {Requests: 7},
			key(consumer, requests.Patch, "namespaceoffloadings", "status"): {Requests: 150},
			key(consumer, requests.Patch, "namespaceoffloadings", ""):       {Requests: 100},
		},
		Writes: map[requests.Object]int{{Resource: "namespaceoffloadings", Subresource: "status", Name: "a"}: 3},
	}}
	return p
}

func TestNamespacesBounds(t *testing.T) {
	work := func(resource, subresource string) requests.Key {
		return requests.Key{Cluster: consumer, Verb: requests.Patch, Resource: resource, Subresource: subresource, Class: requests.Work}
	}
	set := func(p *phase, key requests.Key, count requests.Count) { p.Counts[key] = count }
	specs, statuses := work("namespacemaps", ""), work("namespacemaps", "status")
	created := requests.Key{Cluster: "p1", Verb: requests.Create, Resource: "namespaces", Class: requests.Work}
	deleted := requests.Key{Cluster: "p1", Verb: requests.Delete, Resource: "namespaces", Class: requests.Work}
	status := requests.Object{Resource: "namespaceoffloadings", Subresource: "status", Name: "a"}
	for what, test := range map[string]struct {
		deleting bool
		spoil    func(*phase)
		want     string // Part of the one error; none if empty.
	}{
		"as it should be":              {false, func(*phase) {}, ""},
		"a namespace too few":          {false, func(p *phase) { set(p, created, requests.Count{Requests: 299}) }, "created: 299 (= 300)"},
		"a map written for a few":      {false, func(p *phase) { set(p, specs, requests.Count{Requests: 13}) }, "NamespaceMaps: 20 (≤ 19)"},
		"a status written too often":   {false, func(p *phase) { p.Writes[status] = 4 }, "status writes of one offloading: 4 (≤ 3)"},
		"a write that changes nothing": {false, func(p *phase) { set(p, specs, requests.Count{Requests: 12, NoOps: 1}) }, "change nothing"},
		"reads": {false, func(p *phase) {
			set(p, requests.Key{Verb: requests.Get, Resource: "pods", Class: requests.Work}, requests.Count{Requests: 111})
		}, "other requests: 211 (≤ 210)"},
		"a deletion":                   {true, func(*phase) {}, ""},
		"a namespace left":             {true, func(p *phase) { set(p, deleted, requests.Count{Requests: 299}) }, "deleted: 299 (= 300)"},
		"specs out of pace":            {true, func(p *phase) { set(p, specs, requests.Count{Requests: 67}) }, "67 (≤ 66)"},
		"statuses out of pace":         {true, func(p *phase) { set(p, statuses, requests.Count{Requests: 34}) }, "34 (≤ 33)"},
		"refused ones do not wait":     {true, func(p *phase) { set(p, statuses, requests.Count{Requests: 40, Failed: 7}) }, ""},
		"a status too often, deleting": {true, func(p *phase) { p.Writes[status] = 6 }, "6 (≤ 5)"},
	} {
		t.Run(what, func(t *testing.T) {
			verb := requests.Create
			if test.deleting {
				verb = requests.Delete
			}
			p := offloaded(verb)
			test.spoil(&p)
			figures := p.offloading()
			if test.deleting {
				figures = p.deleting()
			}
			_, broken := table("", column{"", figures})
			if test.want == "" && len(broken) > 0 {
				t.Errorf("got %v, want none", broken)
			}
			if test.want != "" && (len(broken) != 1 || !strings.Contains(broken[0].Error(), test.want)) {
				t.Errorf("got %v, want one error about %q", broken, test.want)
			}
		})
	}
}
