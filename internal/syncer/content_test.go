package syncer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/step"
	"github.com/spillway-io/spillway/internal/translate"
)

// held is a ConfigMap as the caches hold it.
func held(m *corev1.ConfigMap) *corev1.ConfigMap {
	return translate.WithoutContent(m).(*corev1.ConfigMap)
}

// merging is plain, with what Merge does of kinds that have content.
type merging struct{ plain }

func (merging) Merge(desired, remote *corev1.ConfigMap) (*corev1.ConfigMap, bool) {
	merged := remote.DeepCopy()
	merged.Labels, merged.Annotations = translate.MergeMetadata(desired, remote)
	merged.Data = translate.MergeContent(desired.Data, remote.Data)
	if cmp.Equal(merged, remote) {
		return remote, false
	}
	return merged, false
}

// TestContentIsReadToBeSent: and for nothing else.
func TestContentIsReadToBeSent(t *testing.T) {
	labelled := func(m *corev1.ConfigMap) { m.Labels = with(m.Labels, "tier", "web") }
	changed := data("a", "2")
	for name, test := range map[string]struct {
		snapshot mapSnapshot
		want     Verb // "" for nothing.
	}{
		"it is to be created":              {wanted(held(localMap(sent)), nil), Read},
		"it has been read":                 {wanted(localMap(sent), nil), Create},
		"it has no content":                {wanted(held(localMap(sent, data())), nil), Create},
		"it is to be marked first":         {wanted(held(localMap(labelled)), nil), Patch},
		"the copy has the same":            {wanted(held(localMap(sent)), held(remoteMap())), ""},
		"the copy has something else":      {wanted(held(localMap(sent, changed)), held(remoteMap())), Read},
		"that has been read":               {wanted(localMap(sent, changed), held(remoteMap())), Patch},
		"the copy is to have none":         {wanted(held(localMap(sent, data())), held(remoteMap())), Patch},
		"a label of the copy is missing":   {wanted(held(localMap(sent, labelled)), held(remoteMap())), Patch},
		"nothing needs it any more":        {wanted(held(localMap(sent, changed)), held(remoteMap()), unwanted), Delete},
		"its owner keeps it from now on":   {wanted(held(localMap(sent, changed, keptHome)), held(remoteMap())), Delete},
		"the copy is that of an older one": {wanted(nil, held(remoteMap())), Delete},
	} {
		t.Run(name, func(t *testing.T) {
			plan := withContent(test.snapshot, Decide(test.snapshot, copies[*corev1.ConfigMap]{Translation: merging{}, fresh: testCopies.fresh}))
			var got Verb
			if len(plan.Actions) > 0 {
				got = plan.Actions[0].Verb
			}
			if got != test.want || len(plan.Actions) > 1 {
				t.Errorf("got %v, want to %q", plan.Actions, test.want)
			}
		})
	}
}

// TestTooMuchMetadata is neither sent nor brought up to date, however it is seen. Of a
// copy its owner is told.
func TestTooMuchMetadata(t *testing.T) {
	long := func(m *corev1.ConfigMap) {
		m.Annotations = with(m.Annotations, "a", string(make([]byte, translate.MostMetadata)))
	}
	short := func(m *corev1.ConfigMap) { m.Annotations = translate.Shortened(m.Annotations) }
	changed := data("a", "2")
	for name, test := range map[string]struct {
		snapshot mapSnapshot
		told     []string
	}{
		"whole":                         {wanted(localMap(sent, long), nil), nil},
		"shortened":                     {wanted(localMap(sent, short), nil), nil},
		"with a copy":                   {wanted(localMap(sent, long, changed), remoteMap()), []string{translate.ReasonMetadataTooLarge}},
		"with a copy, shortened":        {wanted(held(localMap(sent, short, changed)), remoteMap()), []string{translate.ReasonMetadataTooLarge}},
		"with a copy of before it grew": {wanted(localMap(sent, short, changed), remoteMap(long)), []string{translate.ReasonMetadataTooLarge}},
	} {
		t.Run(name, func(t *testing.T) {
			c, recorder, _ := copier()
			plan := withContent(test.snapshot, c.effective(test.snapshot, nil))
			if len(plan.Actions) > 0 || plan.Problem == nil || plan.Problem.Reason != translate.ReasonMetadataTooLarge {
				t.Errorf("got %v with the problem %v", plan.Actions, plan.Problem)
			}
			if diff := cmp.Diff(test.told, told(recorder)); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswered(t *testing.T) {
	answer := func(side Side, version string, uid types.UID) attempt {
		return attempt{Action{Side: side}, localMap(func(m *corev1.ConfigMap) { m.ResourceVersion, m.UID = version, uid })}
	}
	for name, test := range map[string]struct {
		made []attempt
		want string // Its version; "" for what is seen.
	}{
		"nothing":                   {nil, ""},
		"it is as it was seen":      {[]attempt{answer(Local, "5", "local-1")}, "5"},
		"it is newer":               {[]attempt{answer(Local, "7", "local-1")}, "7"},
		"the last one":              {[]attempt{answer(Local, "5", "local-1"), answer(Local, "6", "local-1")}, "6"},
		"it has changed since":      {[]attempt{answer(Local, "4", "local-1")}, ""},
		"it is another one":         {[]attempt{answer(Local, "7", "local-2")}, ""},
		"it is the copy":            {[]attempt{answer(Remote, "7", "local-1")}, ""},
		"the copy was made since":   {[]attempt{answer(Local, "6", "local-1"), answer(Remote, "9", "remote-1")}, "6"},
		"something of another kind": {[]attempt{{Action{Side: Local}, &corev1.Secret{}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			seen := held(localMap())
			got := answered(seen, test.made)
			if test.want == "" && got != seen || test.want != "" && (got.ResourceVersion != test.want || translate.LacksContent(nil, got)) {
				t.Errorf("got version %s with %v", got.ResourceVersion, got.Data)
			}
		})
	}
}

// live is a consumer that has one ConfigMap.
type live struct {
	client.Reader
	has *corev1.ConfigMap
}

func (l live) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	*into.(*corev1.ConfigMap) = *l.has
	return nil
}

// TestReadIsOfTheObjectThatWasSeen: of another one of its name nothing is decided yet.
func TestReadIsOfTheObjectThatWasSeen(t *testing.T) {
	c, _, _ := copier()
	c.live = live{has: localMap()}
	if answer, err := c.read(t.Context(), held(localMap())); err != nil || answer.(*corev1.ConfigMap).Data["a"] != "1" {
		t.Errorf("got %v, %v", answer, err)
	}
	c.live = live{has: localMap(func(m *corev1.ConfigMap) { m.UID = "local-2" })}
	if _, err := c.read(t.Context(), held(localMap())); !step.IsGone(err) {
		t.Errorf("of another one: %v", err)
	}
}

// TestTakenBackContent is told, though the content had to be read again in between.
func TestTakenBackContent(t *testing.T) {
	c, _, _ := copier()
	c.Syncer = copies[*corev1.ConfigMap]{Translation: merging{}, fresh: testCopies.fresh}
	local := localMap(sent, data("a", "2"))
	before := held(remoteMap())
	s := wanted(local, before)
	first := withContent(s, c.effective(s, nil))
	if len(first.Actions) != 1 || first.Actions[0].Verb != Patch {
		t.Fatalf("got %v", first.Actions)
	}
	s.Remote = held(remoteMap(func(m *corev1.ConfigMap) { m.ResourceVersion = "10" })) // As it was.
	made := []attempt{{first.Actions[0], s.Remote}}
	s.Local = held(local)
	if plan := withContent(s, c.effective(s, made)); len(plan.Actions) != 1 || plan.Actions[0].Verb != Read {
		t.Fatalf("got %v", plan.Actions)
	}
	made = append(made, attempt{Action{Verb: Read, Side: Local}, local})
	s.Local = answered(s.Local, made)
	if plan := withContent(s, c.effective(s, made)); len(plan.Actions) > 0 || plan.Problem == nil {
		t.Errorf("got %v with the problem %v", plan.Actions, plan.Problem)
	}
}

// TestReadIsNoSuccess: a creation that fails each time is told, though its content is
// read before each try.
func TestReadIsNoSuccess(t *testing.T) {
	for what, err := range map[string]error{
		"server errors": apierrors.NewInternalError(errors.New("failed calling webhook")),
		"conflicts":     apierrors.NewConflict(configMaps, "settings", errors.New("a webhook says so")),
	} {
		t.Run(what, func(t *testing.T) {
			c, _, clock := copier()
			s := wanted(localMap(sent), nil)
			create := Action{Verb: Create, Side: Remote, Object: remoteMap()}
			for range 20 {
				c.memory.succeeded(s.Key, Read, "")
				_ = c.failed(t.Context(), s, create, err) // Nil as soon as it is remembered.
				clock.Step(2 * time.Second)
			}
			if !c.memory.isRefused(s.Key) {
				t.Error("nobody is told")
			}
		})
	}
}
