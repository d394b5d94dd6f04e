package performance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/test/order"
	"github.com/spillway-io/spillway/test/requests"
)

// TestSpilled counts the writes of three pods, one in each tier.
func TestSpilled(t *testing.T) {
	events := []order.Event{{At: time.Second, Kind: order.Asked, N: 3}}
	for i, pod := range []string{"a", "b", "c"} {
		events = append(events, order.Event{At: 2 * time.Second, Kind: order.Created, Pod: pod, Tier: order.Nowhere},
			order.Event{At: time.Duration(3+i) * time.Second, Kind: order.Ready, Pod: pod, Tier: i})
	}
	s := spilledFrom(events, 3)
	if s.opened() != 3 || s.up != 4*time.Second {
		t.Errorf("opened %d times, all Ready after %s", s.opened(), s.up)
	}
	patch := func(subresource string, count requests.Count) (requests.Key, requests.Count) {
		return requests.Key{Cluster: consumer, Verb: requests.Patch, Resource: "pods", Subresource: subresource, Class: requests.Work}, count
	}
	pod := func(name, subresource string) requests.Object {
		return requests.Object{Cluster: consumer, Resource: "pods", Subresource: subresource, Name: name}
	}
	for name, test := range map[string]struct {
		opening requests.Count
		writes  map[requests.Object]int
		want    []string
	}{
		"one for each tier": {requests.Count{Requests: 4, Failed: 1}, map[requests.Object]int{pod("b", ""): 1, pod("c", ""): 3, pod("b", "status"): 1}, nil},
		"one too many": {requests.Count{Requests: 4}, map[requests.Object]int{pod("b", ""): 2, pod("c", ""): 2},
			[]string{"writes that open a tier for a pod"}},
		"of the status of a pod in the first": {requests.Count{Requests: 3}, map[requests.Object]int{pod("a", "status"): 1},
			[]string{"writes of pods in the first tier, also of their status"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := requests.Figures{Counts: map[requests.Key]requests.Count{}, Writes: test.writes}
			key, n := patch("", test.opening)
			f.Counts[key] = n
			key, n = patch("status", requests.Count{Requests: 9})
			f.Counts[key] = n
			var broken []string
			for _, is := range s.figures(f) {
				if is.broken() {
					broken = append(broken, is.what)
				}
			}
			if diff := cmp.Diff(test.want, broken); diff != "" {
				t.Errorf("broken (-want +got):\n%s", diff)
			}
		})
	}
}
