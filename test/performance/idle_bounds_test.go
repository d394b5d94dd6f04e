package performance

import (
	"maps"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/test/requests"
)

// idleFor is a correct state after two minutes with so many providers.
func idleFor(providers ...string) IdleState {
	n := len(providers)
	s := IdleState{
		Providers: n, Pods: 100, Namespaces: 1, Seconds: 120,
		Requests:    map[idleClass]int{leases: 34 * n, probes: 4 * n, renewed: 3},
		Watches:     map[string]int{"consumer: nodes": 1, "consumer: secrets": 2},
		Connections: map[string]int{consumer: 1},
	}
	s.Watches["consumer: pods"], s.Watches["consumer: configmaps"] = n, 4+n // Four are of other objects.
	for _, provider := range providers {
		s.Watches[provider+": pods"], s.Watches[provider+": configmaps"], s.Connections[provider] = 1, 2, 1
	}
	return s
}

// withoutPods is a correct state before there is any pod.
func withoutPods(provider string) IdleState {
	s := idleFor(provider)
	s.Pods = 0
	s.Watches["consumer: configmaps"]--
	s.Watches[provider+": configmaps"]--
	return s
}

func TestIdleBounds(t *testing.T) {
	for what, test := range map[string]struct {
		providers []string
		spoil     func(*IdleState)
		want      string // Part of the error; "" if there is none.
	}{
		"one provider":             {[]string{"p1"}, func(*IdleState) {}, ""},
		"three":                    {[]string{"p1", "p2", "p3"}, func(*IdleState) {}, ""},
		"a lease too many":         {[]string{"p1"}, func(s *IdleState) { s.Requests[leases] = 39 }, "39 requests (leases)"},
		"no lease renewed":         {[]string{"p1"}, func(s *IdleState) { delete(s.Requests, leases) }, "0 requests (leases)"},
		"leases of one of three":   {[]string{"p1", "p2", "p3"}, func(s *IdleState) { s.Requests[leases] = 34 }, "34 requests (leases)"},
		"too few leases":           {[]string{"p1"}, func(s *IdleState) { s.Requests[leases] = 24 }, "24 requests (leases) in 2m0s, want 25 to 38"},
		"no probes":                {[]string{"p1"}, func(s *IdleState) { s.Requests[probes] = 0 }, "0 requests (probes)"},
		"too many watches renewed": {[]string{"p1"}, func(s *IdleState) { s.Requests[renewed] = 99 }, "99 requests (watches renewed)"},
		"others": {[]string{"p1"}, func(s *IdleState) {
			s.Others = []requests.Row{{Key: requests.Key{Cluster: "p1", Verb: "list", Resource: "pods"}, Count: requests.Count{Requests: 2}}}
		}, "2 times list pods in cluster p1"},
		"a watch more":                 {[]string{"p1"}, func(s *IdleState) { s.Watches["p1: pods"] = 2 }, "the open watches are"},
		"a connection more":            {[]string{"p1"}, func(s *IdleState) { s.Connections["p1"] = 2 }, "the connections are"},
		"one more of one of":           {[]string{"p1", "p2", "p3"}, func(s *IdleState) { s.Watches["p3: nodes"] = 1 }, "the open watches are"},
		"a kind in use is not watched": {[]string{"p1"}, func(s *IdleState) { s.Watches["consumer: configmaps"]-- }, "the open watches are"},
		"a kind that is not in use":    {[]string{"p1"}, func(s *IdleState) { s.Watches["p1: services"] = 1 }, "the open watches are"},
		"a view more":                  {[]string{"p1", "p2", "p3"}, func(s *IdleState) { s.Watches["consumer: pods"] = 4 }, "the open watches are"},
		"two connections to one of three": {[]string{"p1", "p2", "p3"}, func(s *IdleState) {
			s.Connections["p2"] = 2
		}, "the connections are"},
	} {
		t.Run(what, func(t *testing.T) {
			state := idleFor(test.providers...)
			test.spoil(&state)
			for _, first := range []IdleState{idleFor("p1"), withoutPods("p1")} {
				broken := state.Broken(first)
				if test.want == "" && len(broken) > 0 {
					t.Errorf("after %d pods: got %v, want none", first.Pods, broken)
				}
				if test.want != "" && (len(broken) != 1 || !strings.Contains(broken[0].Error(), test.want)) {
					t.Errorf("after %d pods: got %v, want one error about %q", first.Pods, broken, test.want)
				}
			}
		})
	}
}

// TestIdleBlind checks a log and a process that show nothing, also in the first state: then being equal to it
// proves nothing.
func TestIdleBlind(t *testing.T) {
	blind := IdleState{Providers: 1, Seconds: 120, Requests: map[idleClass]int{}, Watches: map[string]int{}, Connections: map[string]int{consumer: 0, "p1": 0}}
	var all []string
	for _, err := range blind.Broken(blind) {
		all = append(all, err.Error())
	}
	for _, want := range []string{"(leases)", "(probes)", "to cluster consumer", "to cluster p1"} {
		if text := strings.Join(all, "\n"); !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	none := idleFor("p1")
	none.Connections = map[string]int{}
	if broken := none.Broken(none); len(broken) == 0 {
		t.Error("no cluster at all is no error")
	}
}

func TestIdleMarkdown(t *testing.T) {
	three := idleFor("p1", "p2", "p3")
	spoilt := idleFor("p1", "p2", "p3")
	spoilt.Connections = maps.Clone(spoilt.Connections)
	spoilt.Connections["p2"] = 4
	text := IdleReport{Command: "make bench", States: []IdleState{idleFor("p1"), three, spoilt}}.Markdown()
	growing := IdleReport{Command: "make bench", States: []IdleState{withoutPods("p1"), idleFor("p1")}}.Markdown()
	if want := "| open watches, each provider | 2, then 3 | 2 | 3 |\n"; !strings.Contains(growing, want) {
		t.Errorf("%q is not in:\n%s", want, growing)
	}
	for _, want := range []string{
		"Providers: 1.\n\n| pods in namespaces | bound | 100 in 1 |\n",
		"Providers: 3.\n\n| pods in namespaces | bound | 100 in 1 | 100 in 1 |\n",
		"| requests: leases | 25 to 38 | 34 |\n", "| requests: leases | 75 to 114 | 102 | 102 |\n",
		"| open watches, consumer | 9 | 9 |\n", "| open watches, consumer | 13 | 13 | 13 |\n",
		"| open watches, each provider | 3 | 3 | 3 |\n",
		"| connections, each provider | 1 | 1 | 1, 4, 1 |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
