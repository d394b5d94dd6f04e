package ui

import "testing"

// TestLack: what is remembered is forgotten if something may not be read any more, whatever else may be read now.
func TestLack(t *testing.T) {
	of := func(namespace string, names ...string) *rights {
		r := &rights{namespace: namespace}
		for _, name := range names {
			r.sources = append(r.sources, source{name: name})
		}
		return r
	}
	for name, test := range map[string]struct {
		before, now *rights
		want        bool
	}{
		"the same":           {of("", "Pods"), of("", "Pods"), false},
		"one more":           {of("", "Pods"), of("", "Pods", "Nodes"), false},
		"one for another":    {of("", "Pods"), of("", "Nodes"), true},
		"one namespace only": {of("", "Pods"), of("team-a", "Pods"), true},
		"nothing at all":     {of("", "Pods"), of(""), true},
		"the first right":    {of("team-a"), of("team-a", "Pods"), false},
		"two sources of one": {of("", "Events", "Events"), of("", "Events", "Events"), false},
		"all namespaces now": {of("team-a", "Pods"), of("", "Pods"), true}, // It counts other namespaces from here on.
	} {
		if got := test.now.lack(test.before); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
