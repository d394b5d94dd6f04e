package performance

import (
	"strings"
	"testing"
	"time"
)

// idleFor is a correct state after two minutes with so many providers.
func idleFor(pods int, providers ...string) idleState {
	n, using := len(providers), min(1, pods)
	s := idleState{
		pods: pods, namespaces: 1, idle: 2 * time.Minute,
		requests:    map[idleClass]int{leases: 32 * n, probes: 2 * n, renewed: 3},
		watches:     map[string]int{"consumer: nodes": 1, "consumer: secrets": 2, "consumer: pods": n, "consumer: configmaps": 4 + using*n},
		connections: map[string]int{consumer: 1},
	}
	for _, provider := range providers {
		s.watches[provider+": pods"], s.watches[provider+": configmaps"], s.connections[provider] = 1, 1+using, 1
	}
	return s
}

func TestIdleBounds(t *testing.T) {
	for what, test := range map[string]struct {
		providers string
		spoil     func(*idleState)
		want      string // Part of the one error; none if empty.
	}{
		"one provider":             {"p1", func(*idleState) {}, ""},
		"three":                    {"p1 p2 p3", func(*idleState) {}, ""},
		"a lease too many":         {"p1", func(s *idleState) { s.requests[leases] = 35 }, "leases: 35 (22 to 34)"},
		"no lease renewed":         {"p1", func(s *idleState) { delete(s.requests, leases) }, "leases: 0 (22 to 34)"},
		"leases of one of three":   {"p1 p2 p3", func(s *idleState) { s.requests[leases] = 32 }, "leases: 32 (66 to 102)"},
		"no probes":                {"p1", func(s *idleState) { s.requests[probes] = 0 }, "probes: 0"},
		"too many watches renewed": {"p1", func(s *idleState) { s.requests[renewed] = 99 }, "watches renewed: 99"},
		"others":                   {"p1", func(s *idleState) { s.requests[others] = 1 }, "others: 1 (= 0)"},
		"a watch more":             {"p1", func(s *idleState) { s.watches["p1: pods"] = 2 }, "open watches, p1: 4 (= 3)"},
		"a watch less":             {"p1", func(s *idleState) { s.watches["consumer: configmaps"]-- }, "open watches, consumer: 8 (= 9)"},
		"one more of one of three": {"p1 p2 p3", func(s *idleState) { s.watches["p3: nodes"] = 1 }, "open watches, p3"},
		"a connection more":        {"p1 p2 p3", func(s *idleState) { s.connections["p2"] = 2 }, "connections, p2: 2 (= 1)"},
	} {
		t.Run(what, func(t *testing.T) {
			state := idleFor(100, strings.Fields(test.providers)...)
			test.spoil(&state)
			_, broken := table("", column{"", state.figures(idleFor(0, "p1"))})
			if test.want == "" && len(broken) > 0 {
				t.Errorf("got %v, want none", broken)
			}
			if test.want != "" && (len(broken) != 1 || !strings.Contains(broken[0].Error(), test.want)) {
				t.Errorf("got %v, want one error about %q", broken, test.want)
			}
		})
	}
}

// TestIdleBlind checks a log and a process that show nothing: being equal to the first state proves nothing.
func TestIdleBlind(t *testing.T) {
	blind := idleState{idle: 2 * time.Minute, connections: map[string]int{consumer: 0, "p1": 0}}
	text, broken := table("", column{"", blind.figures(blind)})
	for _, want := range []string{"leases", "probes", "open watches, consumer", "open watches, p1", "connections, consumer", "connections, p1"} {
		found := false
		for _, err := range broken {
			found = found || strings.Contains(err.Error(), want)
		}
		if !found {
			t.Errorf("no error about %s in\n%s", want, text)
		}
	}
}
