package performance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/test/requests"
)

func TestDifferences(t *testing.T) {
	key := func(verb, resource string, class requests.Class) requests.Key {
		return requests.Key{Cluster: "p1", Verb: verb, Resource: resource, Class: class}
	}
	figures := func(counts map[requests.Key]int) requests.Figures {
		f := requests.Figures{Counts: map[requests.Key]requests.Count{}}
		for key, n := range counts {
			f.Counts[key] = requests.Count{Requests: n}
		}
		return f
	}
	create, list := key(requests.Create, "pods", requests.Work), key(requests.List, "nodes", requests.Work)
	own := map[requests.Key]int{create: 3}
	for what, test := range map[string]struct {
		audited map[requests.Key]int
		want    []string
	}{
		"none": {map[requests.Key]int{create: 3}, nil},
		"watches, and what time brings": {map[requests.Key]int{
			create: 3, key(requests.Watch, "pods", requests.Work): 9, key(requests.Update, "leases", requests.Leases): 9,
		}, nil},
		"one less":            {map[requests.Key]int{create: 2}, []string{"create pods in p1: 3 by the transports, 2 by the audit log"}},
		"a log that is empty": {nil, []string{"create pods in p1: 3 by the transports, 0 by the audit log"}},
		"not by a transport":  {map[requests.Key]int{create: 3, list: 1}, []string{"list nodes in p1: 0 by the transports, 1 by the audit log"}},
	} {
		t.Run(what, func(t *testing.T) {
			if diff := cmp.Diff(test.want, differences(figures(own), figures(test.audited))); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
