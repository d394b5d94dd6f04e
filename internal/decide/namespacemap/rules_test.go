package namespacemap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestRules(t *testing.T) {
	const def, same, chosen = v1alpha1.MappingDefaultName, v1alpha1.MappingEnforceSameName, v1alpha1.MappingSelectedName
	allow := func(strategies ...v1alpha1.NamespaceMappingStrategy) v1alpha1.RemoteNamespaces {
		return v1alpha1.RemoteNamespaces{Strategies: strategies}
	}
	pattern := func(text string) v1alpha1.RemoteNamespaces {
		return v1alpha1.RemoteNamespaces{Strategies: []v1alpha1.NamespaceMappingStrategy{def, same, chosen}, NamePattern: text}
	}
	for name, test := range map[string]struct {
		rules  v1alpha1.RemoteNamespaces
		remote string
		want   string
	}{
		"nothing said, the default name":           {allow(), "team-home", ""},
		"nothing said, the same name":              {allow(), "team", "allows DefaultName, but the name team has strategy EnforceSameName"},
		"nothing said, a chosen name":              {allow(), "gatekeeper-system", "the name gatekeeper-system has strategy SelectedName"},
		"nothing said, a name that is no default":  {allow(), "team-elsewhere", "has strategy SelectedName"},
		"the same name allowed":                    {allow(def, same), "team", ""},
		"the same name only":                       {allow(same), "team-home", "allows EnforceSameName, but the name team-home has strategy DefaultName"},
		"chosen names allowed":                     {allow(chosen), "gatekeeper-system", ""},
		"a pattern that it matches":                {pattern("team(-.*)?"), "team-home", ""},
		"a pattern for the whole name, not a part": {pattern("am"), "team", `does not match spec.remoteNamespaces.namePattern of ClusterBinding eu, "am"`},
		"alternatives are anchored as a whole":     {pattern("x|te"), "team", "does not match"},
		"a pattern that closes our bracket":        {pattern("x)|(team"), "team", "is invalid and allows nothing"},
		"a pattern that is none":                   {pattern("("), "team", "is invalid and allows nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			rules := Rules{RemoteNamespaces: test.rules, Binding: "eu", ConsumerID: "home"}
			got := rules.refuse(v1alpha1.DesiredMapping{Namespace: "team", RemoteNamespace: test.remote})
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

func TestRulesAreForNewOnes(t *testing.T) {
	nsm := builder.Map("eu").Accepted("a", "chosen").
		Current("b", "going", v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceTerminating, "").
		Current("c", "left", v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "").
		Current("d", "refused", v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameNotAllowed, "").Obj()
	if diff := cmp.Diff(map[string]string{"a": "chosen", "b": "going"}, Existed(nsm)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	strict := Snapshot{Desired: entries("a", "chosen"), Locals: locals("a"), Rules: &Rules{Binding: "eu", ConsumerID: "home"}}
	if plan := Decide(strict); len(plan.Creates) > 0 || plan.Known["a"].Reason != v1alpha1.ReasonNameNotAllowed || plan.Known["a"].Phase != v1alpha1.MappingCreationLoopBackOff {
		t.Errorf("a new one: %+v", plan)
	}
	strict.Remotes = remotes(ours("chosen", "a"))
	if plan := Decide(strict); plan.Known["a"].Outcome != active || len(plan.Deletes) > 0 {
		t.Errorf("one that is there: %+v", plan)
	}
	strict.Remotes, strict.Existed = nil, map[string]string{"a": "chosen"}
	if plan := Decide(strict); len(plan.Creates) != 1 {
		t.Errorf("one that somebody has deleted: %+v", plan)
	}
	strict.Existed = map[string]string{"a": "another"}
	if plan := Decide(strict); len(plan.Creates) > 0 {
		t.Errorf("one that had another name: %+v", plan)
	}
}
