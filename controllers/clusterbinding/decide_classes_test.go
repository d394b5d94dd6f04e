package clusterbinding

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// mapping makes the binding map these classes, such as "RuntimeClass gvisor".
func mapping(classes ...string) func(*snapshot) {
	return func(s *snapshot) {
		s.Binding.Spec.Classes = nil
		for i, class := range classes {
			kind, name, _ := strings.Cut(class, " ")
			s.Binding.Spec.Classes = append(s.Binding.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassKind(kind), Name: fmt.Sprint("local-", i), RemoteName: name})
		}
	}
}

// having sets the presence of each of these classes in the provider.
func having(presence field.Presence, classes ...string) func(*snapshot) {
	return func(s *snapshot) {
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

// allClasses combines several changes.
func allClasses(changes ...func(*snapshot)) func(*snapshot) {
	return func(s *snapshot) {
		for _, change := range changes {
			change(s)
		}
	}
}

func TestClasses(t *testing.T) {
	const runtime, priority, public = "RuntimeClass gvisor", "PriorityClass batch", "IngressClass public"
	both := mapping(runtime, priority)
	there, gone := having(field.ClassThere, runtime), having(field.ClassMissing, runtime)
	before := func(is func(*snapshot)) func(*snapshot) {
		return func(s *snapshot) { s.Binding.Status = Decide(up(allClasses(mapping(runtime), is))) }
	}
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("IngressClass class-%02d", i))
	}
	const suffix = ": new pods, Ingresses and claims with such a class are not sent; correct spec.classes, or create the class in the provider"
	for name, test := range map[string]struct {
		changes []func(*snapshot)
		want    string
	}{
		"none":                       {nil, ""},
		"load balancers alone":       {[]func(*snapshot){mapping("LoadBalancer nlb")}, ""},
		"Gateways alone":             {[]func(*snapshot){mapping("Gateway a/b")}, ""},
		"not known yet":              {[]func(*snapshot){mapping(runtime)}, ""},
		"there":                      {[]func(*snapshot){mapping(runtime), there}, "True ClassesThere: "},
		"one is not known yet":       {[]func(*snapshot){both, gone}, ""},
		"all are there":              {[]func(*snapshot){both, there, having(field.ClassThere, priority)}, "True ClassesThere: "},
		"one is missing":             {[]func(*snapshot){both, gone, having(field.ClassThere, priority)}, "False ClassMissing: the provider has no " + runtime + suffix},
		"two are, and one is hidden": {[]func(*snapshot){mapping(runtime, priority, public, runtime), gone, having(field.ClassMissing, public), having(field.ClassUnknown, priority)}, "False ClassMissing: the provider has no IngressClass public, RuntimeClass gvisor" + suffix},
		"one is hidden":              {[]func(*snapshot){both, there, having(field.ClassUnknown, priority)}, "Unknown ClassUnreadable: the manager cannot tell whether the provider has PriorityClass batch: assumed to exist, and not imported; apply this version's provider.yaml in the provider"},
		"of storage":                 {[]func(*snapshot){mapping("StorageClass fast", "VolumeAttributesClass gold"), having(field.ClassThere, "StorageClass fast"), having(field.ClassMissing, "VolumeAttributesClass gold")}, "False ClassMissing: the provider has no VolumeAttributesClass gold" + suffix},
		"many are missing":           {[]func(*snapshot){mapping(many...), having(field.ClassMissing, many...)}, "False ClassMissing: the provider has no " + strings.ReplaceAll(strings.Join(many[:20], ", "), "class-19", "class-19, 5 more") + suffix},
		"away: the last verdict":     {[]func(*snapshot){before(gone), mapping(runtime), func(s *snapshot) { s.Connection = lost(v1alpha1.ReasonUnreachable, "why") }}, "False ClassMissing: the provider has no " + runtime + suffix},
		"back, and not known yet":    {[]func(*snapshot){before(gone), mapping(runtime)}, "False ClassMissing: the provider has no " + runtime + suffix},
		"not mapped any more":        {[]func(*snapshot){before(gone), mapping()}, ""},
		"a duplicate":                {[]func(*snapshot){before(gone), mapping(runtime), func(s *snapshot) { s.Holder = "older" }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, got := Decide(up(allClasses(test.changes...))), ""
			if c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingClassesReady); c != nil {
				got = string(c.Status) + " " + c.Reason + ": " + c.Message
			}
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
	if c := meta.FindStatusCondition(Decide(up(allClasses(mapping(runtime), gone))).Conditions, v1alpha1.BindingReady); c.Reason != v1alpha1.ReasonReady {
		t.Errorf("the binding is %s", c.Reason)
	}
}
