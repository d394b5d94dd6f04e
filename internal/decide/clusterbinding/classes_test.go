package clusterbinding

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/translate"
)

// mapping makes the binding map these classes, such as "RuntimeClass gvisor".
func mapping(classes ...string) func(*Snapshot) {
	return func(s *Snapshot) {
		s.Binding.Spec.Classes = nil
		for i, class := range classes {
			kind, name, _ := strings.Cut(class, " ")
			s.Binding.Spec.Classes = append(s.Binding.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassKind(kind), Name: fmt.Sprint("local-", i), RemoteName: name})
		}
	}
}

// having sets the presence of each of these classes in the provider.
func having(presence translate.Presence, classes ...string) func(*Snapshot) {
	return func(s *Snapshot) {
		var all connection.Classes
		if s.Connection.Classes != nil {
			all = *s.Connection.Classes
		}
		for _, class := range classes {
			kind, name, _ := strings.Cut(class, " ")
			all = append(all, connection.Class{Kind: v1alpha1.ClassKind(kind), Name: name, Presence: presence})
		}
		s.Connection.Classes = &all
	}
}

// all combines several changes.
func all(changes ...func(*Snapshot)) func(*Snapshot) {
	return func(s *Snapshot) {
		for _, change := range changes {
			change(s)
		}
	}
}

func TestClasses(t *testing.T) {
	const runtime, priority, public = "RuntimeClass gvisor", "PriorityClass batch", "IngressClass public"
	both := mapping(runtime, priority)
	there, gone := having(translate.ClassThere, runtime), having(translate.ClassMissing, runtime)
	before := func(is func(*Snapshot)) func(*Snapshot) {
		return func(s *Snapshot) { s.Binding.Status = Decide(up(all(mapping(runtime), is))) }
	}
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("IngressClass class-%02d", i))
	}
	const suffix = ": new pods and Ingresses with such a class are not sent; correct spec.classes, or create the class in the provider"
	for name, test := range map[string]struct {
		changes []func(*Snapshot)
		want    string
	}{
		"none":                       {nil, ""},
		"load balancers alone":       {[]func(*Snapshot){mapping("LoadBalancer nlb")}, ""},
		"Gateways alone":             {[]func(*Snapshot){mapping("Gateway a/b")}, ""},
		"not known yet":              {[]func(*Snapshot){mapping(runtime)}, ""},
		"there":                      {[]func(*Snapshot){mapping(runtime), there}, "True ClassesThere: "},
		"one is not known yet":       {[]func(*Snapshot){both, gone}, ""},
		"all are there":              {[]func(*Snapshot){both, there, having(translate.ClassThere, priority)}, "True ClassesThere: "},
		"one is missing":             {[]func(*Snapshot){both, gone, having(translate.ClassThere, priority)}, "False ClassMissing: the provider has no " + runtime + suffix},
		"two are, and one is hidden": {[]func(*Snapshot){mapping(runtime, priority, public, runtime), gone, having(translate.ClassMissing, public), having(translate.ClassUnknown, priority)}, "False ClassMissing: the provider has no IngressClass public, RuntimeClass gvisor" + suffix},
		"one is hidden":              {[]func(*Snapshot){both, there, having(translate.ClassUnknown, priority)}, "Unknown ClassUnreadable: the manager cannot tell whether the provider has PriorityClass batch: assumed to exist, and not imported; apply this version's provider.yaml in the provider"},
		"many are missing":           {[]func(*Snapshot){mapping(many...), having(translate.ClassMissing, many...)}, "False ClassMissing: the provider has no " + strings.ReplaceAll(strings.Join(many[:20], ", "), "class-19", "class-19, 5 more") + suffix},
		"away: the last verdict":     {[]func(*Snapshot){before(gone), mapping(runtime), func(s *Snapshot) { s.Connection = lost(v1alpha1.ReasonUnreachable, "why") }}, "False ClassMissing: the provider has no " + runtime + suffix},
		"back, and not known yet":    {[]func(*Snapshot){before(gone), mapping(runtime)}, "False ClassMissing: the provider has no " + runtime + suffix},
		"not mapped any more":        {[]func(*Snapshot){before(gone), mapping()}, ""},
		"a duplicate":                {[]func(*Snapshot){before(gone), mapping(runtime), func(s *Snapshot) { s.Holder = "older" }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, got := Decide(up(all(test.changes...))), ""
			if c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingClassesReady); c != nil {
				got = string(c.Status) + " " + c.Reason + ": " + c.Message
			}
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
	if c := meta.FindStatusCondition(Decide(up(all(mapping(runtime), gone))).Conditions, v1alpha1.BindingReady); c.Reason != v1alpha1.ReasonReady {
		t.Errorf("the binding is %s", c.Reason)
	}
}
