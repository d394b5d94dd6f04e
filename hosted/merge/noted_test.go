package merge

import (
	"slices"
	"testing"
)

// TestNoted: a decision counts as repeated only while its write is not done. The spec has a, and the cloud b.
func TestNoted(t *testing.T) {
	back, spec := Policy{External: Upstream, WriteBack: true}, Policy{External: Spec}
	lostA := []Decision{{Path: `tags["k"]`, Take: Upstream, Kept: `"b"`, Lost: `"a"`}}
	lostB := []Decision{{Path: `tags["k"]`, Take: Spec, Kept: `"a"`, Lost: `"b"`}}
	other := slices.Concat(lostA, []Decision{{Path: `tags["k"]`, Take: Upstream, Kept: `"b"`, Lost: `"x"`}})
	tests := map[string]struct {
		policy          Policy
		state           State
		decisions       []Decision
		edited, resent  bool
		published, want string
	}{
		"it is the first":                              {policy: back, state: Agreed},
		"the spec is still to be written":              {policy: back, state: WrittenBack, decisions: lostA, want: "noted"},
		"the request is still to be sent":              {policy: spec, state: Pushed, decisions: lostB, want: "noted"},
		"the spec was written, and its value is back":  {policy: back, state: WrittenBack, decisions: lostA, edited: true},
		"the same value was to be sent meanwhile":      {policy: back, state: Pushed, decisions: lostA},
		"both sides have agreed meanwhile":             {policy: back, state: Agreed, decisions: lostA},
		"another value was lost since":                 {policy: back, state: WrittenBack, decisions: other},
		"the cloud has changed":                        {policy: spec, state: Pushed, decisions: lostB, published: "c"},
		"the request was sent, and the value is back":  {policy: spec, state: Pushed, decisions: lostB, resent: true},
		"another edit of the spec, and it is not sent": {policy: spec, state: Pushed, decisions: lostB, edited: true, want: "noted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tags := func(value string) map[string]any { return map[string]any{"tags": map[string]any{"k": value}} }
			in := Input{
				Table: toy, Spec: tags("a"), Upstream: tags("b"), Published: tags("b"), Complete: true,
				Base: map[string]Base{`tags["k"]`: {true, `"a"`, `"a"`}}, Policies: Policies{Policy: test.policy},
				Stored: Stored{map[string]State{`tags["k"]`: test.state}, test.decisions, !test.edited},
			}
			if test.published != "" {
				in.Published = tags(test.published)
			}
			if test.resent {
				in.Sent = map[string]Text{`tags["k"]`: `"a"`}
			}
			decisions := Merge(in).Decisions
			if len(decisions) != 1 || decisions[0].Noted != (test.want == "noted") {
				t.Errorf("got %+v, want one that is %q", decisions, test.want)
			}
		})
	}
}
