package namespacemap

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var (
	before = metav1.NewTime(builder.Epoch)
	now    = metav1.NewTime(builder.Epoch.Add(time.Hour))
)

func current(namespace, remote string, outcome Outcome, since metav1.Time) v1alpha1.CurrentMapping {
	return v1alpha1.CurrentMapping{Namespace: namespace, RemoteNamespace: remote,
		Phase: outcome.Phase, Reason: outcome.Reason, Message: outcome.Message, Since: &since}
}

func status(observed int64, desired, ready, failed int32, current ...v1alpha1.CurrentMapping) v1alpha1.NamespaceMapStatus {
	return v1alpha1.NamespaceMapStatus{ObservedGeneration: observed, CurrentMapping: current,
		Desired: ptr.To(desired), Ready: ptr.To(ready), Failed: ptr.To(failed)}
}

// TestReportKeepsWhatOthersCount checks that the counts stay, because another controller in the same replica
// writes them.
func TestReportKeepsWhatOthersCount(t *testing.T) {
	nsm := builder.Map("eu").Accepted("a", "ra").Obj()
	nsm.Status.LeavingPods = []v1alpha1.LeavingPods{{Namespace: "a"}}
	for what, status := range map[string]v1alpha1.NamespaceMapStatus{
		"reachable": Report(nsm, nil, now), "away": Unreachable(nsm, "away", now),
	} {
		if diff := cmp.Diff(nsm.Status.LeavingPods, status.LeavingPods); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestReport(t *testing.T) {
	conflict := loopBackOff(v1alpha1.ReasonNameConflict, "somebody else's")
	tests := map[string]struct {
		nsm   *v1alpha1.NamespaceMap
		known map[string]Known
		want  v1alpha1.NamespaceMapStatus
	}{
		"an empty map":                         {builder.Map("eu").Obj(), nil, status(1, 0, 0, 0)},
		"nothing is known yet":                 {builder.Map("eu").Desired("a", "ra").Obj(), nil, status(1, 1, 0, 0)},
		"the generation that it is about":      {builder.Map("eu").Unobserved().Obj(), nil, status(2, 0, 0, 0)},
		"entries of which nothing is known go": {builder.Map("eu").Accepted("a", "ra").Obj(), nil, status(1, 1, 0, 0)},
		"sorted by namespace, counted by phase": {
			builder.Map("eu").Desired("b", "rb").Desired("a", "ra").Desired("c", "rc").Desired("d", "rd").Obj(),
			map[string]Known{"a": {"ra", active}, "b": {"rb", conflict}, "c": {"rc", going}},
			status(1, 4, 1, 1, current("a", "ra", active, now), current("b", "rb", conflict, now), current("c", "rc", going, now))},
		"what is not desired does not count": {
			builder.Map("eu").Obj(), map[string]Known{"a": {"ra", active}, "b": {"rb", conflict}, "c": {"rc", notRequired}},
			status(1, 0, 0, 0, current("a", "ra", active, now), current("b", "rb", conflict, now), current("c", "rc", notRequired, now))},
		"since stays while phase and reason do": {
			builder.Map("eu").Accepted("a", "ra").Obj(), map[string]Known{"a": {"ra", active}},
			status(1, 1, 1, 0, current("a", "ra", active, before))},
		"since stays when only the message changes": {
			builder.Map("eu").Desired("a", "ra").Current("a", "ra", conflict.Phase, conflict.Reason, "another").Obj(),
			map[string]Known{"a": {"ra", conflict}}, status(1, 1, 0, 1, current("a", "ra", conflict, before))},
		"since changes with the phase": {
			builder.Map("eu").Accepted("a", "ra").Obj(), map[string]Known{"a": {"ra", going}},
			status(1, 1, 0, 0, current("a", "ra", going, now))},
		"since stays when the reason changes": {
			builder.Map("eu").Desired("a", "ra").Current("a", "ra", conflict.Phase, v1alpha1.ReasonNameTaken, conflict.Message).Obj(),
			map[string]Known{"a": {"ra", conflict}}, status(1, 1, 0, 1, current("a", "ra", conflict, before))},
		"since stays when the provider comes back": {
			builder.Map("eu").Current("a", "ra", going.Phase, v1alpha1.ReasonProviderUnreachable, "").Obj(),
			map[string]Known{"a": {"ra", going}}, status(1, 0, 0, 0, current("a", "ra", going, before))},
		"since changes with the remote name": {
			builder.Map("eu").Accepted("a", "old").Obj(), map[string]Known{"a": {"new", active}},
			status(1, 1, 1, 0, current("a", "new", active, now))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			unchanged := test.nsm.DeepCopy()
			got := Report(test.nsm, test.known, now)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(unchanged, test.nsm); diff != "" {
				t.Errorf("the map itself was changed\n%s", diff)
			}
			test.nsm.Status = got
			if diff := cmp.Diff(got, Report(test.nsm, test.known, metav1.NewTime(now.Add(time.Hour)))); diff != "" {
				t.Errorf("the same report later differs (-first +later)\n%s", diff)
			}
		})
	}
}

func TestMessagesAreBounded(t *testing.T) {
	for name, message := range map[string]string{
		"letters": strings.Repeat("x", 10_000), "wide letters": strings.Repeat("ä", 10_000), "just": strings.Repeat("ä", 512), "not UTF-8": strings.Repeat("\xff", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			got := Report(builder.Map("eu").Obj(), map[string]Known{"a": {"ra", loopBackOff("X", message)}}, now).CurrentMapping[0].Message
			if utf8.RuneCountInString(got) != 512 || !utf8.ValidString(got) {
				t.Errorf("%d characters, valid: %v", utf8.RuneCountInString(got), utf8.ValidString(got))
			}
			if cut := utf8.RuneCountInString(message) > 512; cut != strings.HasSuffix(got, "…") {
				t.Errorf("cut: %v, and yet %q", cut, got[len(got)-8:])
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	const message = "last known state: Unreachable: no route to host"
	silent := func(phase v1alpha1.MappingPhase) Outcome {
		return Outcome{phase, v1alpha1.ReasonProviderUnreachable, message}
	}
	tests := map[string]struct {
		nsm  *v1alpha1.NamespaceMap
		want v1alpha1.NamespaceMapStatus
	}{
		"an empty map":                    {builder.Map("eu").Obj(), status(1, 0, 0, 0)},
		"nothing was known":               {builder.Map("eu").Desired("a", "ra").Obj(), status(1, 1, 0, 0)},
		"the spec has not been looked at": {builder.Map("eu").Unobserved().Obj(), status(1, 0, 0, 0)},
		"phases and their times are kept, and still counted": {
			builder.Map("eu").Accepted("a", "ra").
				Desired("b", "rb").Current("b", "rb", v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict, "x").
				Desired("c", "rc").Current("c", "rc", v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceTerminating, "x").Obj(),
			status(1, 3, 1, 1, current("a", "ra", silent(v1alpha1.MappingAccepted), before),
				current("b", "rb", silent(v1alpha1.MappingCreationLoopBackOff), before), current("c", "rc", silent(v1alpha1.MappingTerminating), before))},
		"what is not desired any more is to go": {
			builder.Map("eu").Current("a", "ra", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(),
			status(1, 0, 0, 0, current("a", "ra", silent(v1alpha1.MappingTerminating), now))},
		"what is known to be out of reach is not touched": {
			builder.Map("eu").Desired("a", "ra").Current("a", "ra", v1alpha1.MappingAccepted, v1alpha1.ReasonProviderUnreachable, "another message").Obj(),
			status(1, 1, 1, 0, current("a", "ra", Outcome{v1alpha1.MappingAccepted, v1alpha1.ReasonProviderUnreachable, "another message"}, before))},
		"what has volumes is not forgotten": {
			builder.Map("eu").Current("a", "ra", v1alpha1.MappingTerminating, v1alpha1.ReasonVolumesRemain, "claim data").Obj(),
			status(1, 0, 0, 0, current("a", "ra", Outcome{v1alpha1.MappingTerminating, v1alpha1.ReasonVolumesRemain, "claim data"}, before))},
		"what is out of reach, and not desired since": {
			builder.Map("eu").Current("a", "ra", v1alpha1.MappingAccepted, v1alpha1.ReasonProviderUnreachable, message).Obj(),
			status(1, 0, 0, 0, current("a", "ra", silent(v1alpha1.MappingTerminating), now))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			unchanged := test.nsm.DeepCopy()
			got := Unreachable(test.nsm, message, now)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(unchanged, test.nsm); diff != "" {
				t.Errorf("the map itself was changed\n%s", diff)
			}
			test.nsm.Status = got
			if diff := cmp.Diff(got, Unreachable(test.nsm, message, metav1.NewTime(now.Add(time.Hour)))); diff != "" {
				t.Errorf("the same report later differs (-first +later)\n%s", diff)
			}
		})
	}
}
