package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
)

// reporting copies the copy's annotation says to an annotation of the local object. It does not show a lie.
type reporting struct{ fixture.Plain }

func (reporting) Report(local, remote *corev1.ConfigMap, clusterID string, _ decide.Inputs) (*corev1.ConfigMap, *field.Problem) {
	says := ""
	if remote != nil {
		says = remote.Annotations["says"]
	}
	var problem *field.Problem
	if says == "a lie" {
		says, problem = "", &field.Problem{Reason: "Lie", Message: "it lies"}
	}
	if local.Annotations[v1alpha1.AnnotationAddressesPrefix+clusterID] == says {
		return local, problem
	}
	told := local.DeepCopy()
	told.Annotations = decide.With(told.Annotations, v1alpha1.AnnotationAddressesPrefix+clusterID, says)
	return told, problem
}

// TestReporting checks that a copy's report reaches the local object, and is removed before the copy is
// deleted.
func TestReporting(t *testing.T) {
	const (
		tell   = "patch the status of in the consumer: shown 1, locked, paced"
		untell = "patch the status of in the consumer: shown , locked, paced"
		create = "create in the provider"
		remove = "delete in the provider"
	)
	shown := func(what string) fixture.Option {
		return func(m *corev1.ConfigMap) {
			m.Annotations = decide.With(m.Annotations, v1alpha1.AnnotationAddressesPrefix+"eu", what)
		}
	}
	says := func(what string) fixture.Option {
		return func(m *corev1.ConfigMap) { m.Annotations = decide.With(m.Annotations, "says", what) }
	}
	in := func(local, remote *corev1.ConfigMap, changes ...func(*fixture.Snapshot)) fixture.Snapshot {
		known := func(s *fixture.Snapshot) { s.Known, s.Limits = true, &field.Limits{} }
		return fixture.Wanted(local, remote, append([]func(*fixture.Snapshot){known}, changes...)...)
	}
	closed := func(s *fixture.Snapshot) { s.Destination.Open = false }
	leaves := func(s *fixture.Snapshot) { s.Destination.Leaving = true }
	unlimited := func(s *fixture.Snapshot) { s.Limits = field.MissingLimits() }
	refused := func(s *fixture.Snapshot) {
		s.Refused = &decide.Refused{Verb: decide.PatchStatus, Wait: 1, Problem: field.Problem{Reason: v1alpha1.ReasonStatusRejected}}
	}
	for name, test := range map[string]struct {
		in   fixture.Snapshot
		want []string
	}{
		"it tells nothing":                   {in(fixture.Local(), fixture.Remote()), nil},
		"it tells something":                 {in(fixture.Local(), fixture.Remote(says("1"))), []string{tell}},
		"that is shown":                      {in(fixture.Local(shown("1")), fixture.Remote(says("1"))), nil},
		"it tells something else":            {in(fixture.Local(shown("0")), fixture.Remote(says("1"))), []string{tell}},
		"it lies":                            {in(fixture.Local(), fixture.Remote(says("a lie"))), []string{"problem Lie", "event Lie"}},
		"it lies now":                        {in(fixture.Local(shown("1")), fixture.Remote(says("a lie"))), []string{untell, "problem Lie", "event Lie"}},
		"it has changed, too":                {in(fixture.Local(fixture.Data("a", "2")), fixture.Remote(says("1"))), []string{tell, "patch in the provider"}},
		"it is gone there":                   {in(fixture.Local(shown("1")), nil), []string{untell, create}},
		"it goes there":                      {in(fixture.Local(shown("1")), fixture.Remote(says("1"), fixture.Going)), []string{untell, "problem Replacing"}},
		"it is made anew":                    {in(fixture.Local(shown("1")), fixture.Remote(says("1"), fixture.Data("frozen", "x"))), []string{untell, remove}},
		"it should not be there":             {in(fixture.Local(shown("1")), fixture.Remote(says("1")), fixture.Unwanted), []string{untell, remove}},
		"nor should it, and is not":          {in(fixture.Local(shown("1")), nil, fixture.Unwanted), []string{untell}},
		"its owner keeps it at home":         {in(fixture.Local(shown("1"), fixture.KeptHome), fixture.Remote(says("1"))), []string{untell, remove}},
		"it may not go any more":             {in(fixture.Local(shown("1"), fixture.Data("refuse", "x")), fixture.Remote(says("1"))), []string{untell, remove}},
		"its place is not known":             {in(fixture.Local(shown("0")), fixture.Remote(says("1")), closed), nil},
		"nor is it there":                    {in(fixture.Local(shown("1")), nil, closed), nil},
		"its namespace goes":                 {in(fixture.Local(shown("1")), fixture.Remote(says("1")), closed, leaves), []string{untell}},
		"its namespace is about to go":       {in(fixture.Local(shown("1")), fixture.Remote(says("1")), leaves), []string{untell}},
		"its namespace has gone":             {in(fixture.Local(shown("1")), nil, closed, leaves), []string{untell}},
		"there are no limits":                {in(fixture.Local(shown("0")), fixture.Remote(says("1")), unlimited), nil},
		"its namespace goes, without limits": {in(fixture.Local(shown("1")), fixture.Remote(says("1")), unlimited, closed, leaves), []string{untell}},
		"the consumer refuses what it tells": {in(fixture.Local(shown("1"), fixture.Data("a", "2")), fixture.Remote(says("1")), refused), []string{"patch in the provider"}},
		"another copy counts": {in(fixture.Local(shown("1")), fixture.Remote(says("1")), func(s *fixture.Snapshot) {
			s.RemoteStates = []decide.RemoteState[*corev1.ConfigMap]{s.RemoteState, {Remote: fixture.Remote(says("0"))}}
		}), []string{remove}},
		"it is gone here": {in(nil, fixture.Remote(says("1"))), []string{remove}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := decide.Next(fixture.Of(test.in), decide.NewMapped(decide.Translation[*corev1.ConfigMap](reporting{})))
			var got []string
			for _, a := range plan.Actions {
				line := string(a.Verb) + " in the " + string(a.Side)
				if a.Verb == decide.PatchStatus {
					line += ": shown " + a.Object.GetAnnotations()[v1alpha1.AnnotationAddressesPrefix+"eu"]
					if a.Locked {
						line += ", locked"
					}
					if a.Paced {
						line += ", paced"
					}
				}
				got = append(got, line)
			}
			if plan.Problem != nil {
				got = append(got, "problem "+plan.Problem.Reason)
			}
			if plan.TellsProblem {
				got = append(got, "event "+plan.Problem.Reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
