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

	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/translate"
)

// held is a ConfigMap as the caches hold it.
func held(m *corev1.ConfigMap) *corev1.ConfigMap {
	return translate.WithoutContent(m).(*corev1.ConfigMap)
}

// TestContentIsReadToBeSent: and for nothing else.
func TestContentIsReadToBeSent(t *testing.T) {
	labelled := func(m *corev1.ConfigMap) { m.Labels = decide.With(m.Labels, "tier", "web") }
	changed := fixture.Data("a", "2")
	for name, test := range map[string]struct {
		snapshot fixture.Snapshot
		want     decide.Verb // "" for nothing.
	}{
		"it is to be created":              {fixture.Wanted(held(fixture.Local(fixture.Sent)), nil), decide.Read},
		"it has been read":                 {fixture.Wanted(fixture.Local(fixture.Sent), nil), decide.Create},
		"it has no content":                {fixture.Wanted(held(fixture.Local(fixture.Sent, fixture.Data())), nil), decide.Create},
		"it is to be marked first":         {fixture.Wanted(held(fixture.Local(labelled)), nil), decide.Patch},
		"the copy has the same":            {fixture.Wanted(held(fixture.Local(fixture.Sent)), held(fixture.Remote())), ""},
		"the copy has something else":      {fixture.Wanted(held(fixture.Local(fixture.Sent, changed)), held(fixture.Remote())), decide.Read},
		"that has been read":               {fixture.Wanted(fixture.Local(fixture.Sent, changed), held(fixture.Remote())), decide.Patch},
		"the copy is to have none":         {fixture.Wanted(held(fixture.Local(fixture.Sent, fixture.Data())), held(fixture.Remote())), decide.Patch},
		"a label of the copy is missing":   {fixture.Wanted(held(fixture.Local(fixture.Sent, labelled)), held(fixture.Remote())), decide.Patch},
		"nothing needs it any more":        {fixture.Wanted(held(fixture.Local(fixture.Sent, changed)), held(fixture.Remote()), fixture.Unwanted), decide.Delete},
		"its owner keeps it from now on":   {fixture.Wanted(held(fixture.Local(fixture.Sent, changed, fixture.KeptHome)), held(fixture.Remote())), decide.Delete},
		"the copy is that of an older one": {fixture.Wanted(nil, held(fixture.Remote())), decide.Delete},
	} {
		t.Run(name, func(t *testing.T) {
			plan := decide.WithContent(test.snapshot, decide.Next(test.snapshot, fixture.Copies))
			var got decide.Verb
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
		m.Annotations = decide.With(m.Annotations, "a", string(make([]byte, translate.MostMetadata)))
	}
	short := func(m *corev1.ConfigMap) { m.Annotations = translate.Shortened(m.Annotations) }
	changed := fixture.Data("a", "2")
	for name, test := range map[string]struct {
		snapshot fixture.Snapshot
		told     []string
	}{
		"whole":                         {fixture.Wanted(fixture.Local(fixture.Sent, long), nil), nil},
		"shortened":                     {fixture.Wanted(fixture.Local(fixture.Sent, short), nil), nil},
		"with a copy":                   {fixture.Wanted(fixture.Local(fixture.Sent, long, changed), fixture.Remote()), []string{translate.ReasonMetadataTooLarge}},
		"with a copy, shortened":        {fixture.Wanted(held(fixture.Local(fixture.Sent, short, changed)), fixture.Remote()), []string{translate.ReasonMetadataTooLarge}},
		"with a copy of before it grew": {fixture.Wanted(fixture.Local(fixture.Sent, short, changed), fixture.Remote(long)), []string{translate.ReasonMetadataTooLarge}},
	} {
		t.Run(name, func(t *testing.T) {
			c, recorder, _ := copier()
			plan := decide.WithContent(test.snapshot, c.effective(test.snapshot, nil))
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
	answer := func(side decide.Side, version string, uid types.UID) decide.Attempt {
		return decide.Attempt{Action: decide.Action{Side: side}, Answer: fixture.Local(func(m *corev1.ConfigMap) { m.ResourceVersion, m.UID = version, uid })}
	}
	for name, test := range map[string]struct {
		made []decide.Attempt
		want string // Its version; "" for what is seen.
	}{
		"nothing":                   {nil, ""},
		"it is as it was seen":      {[]decide.Attempt{answer(decide.Local, "5", "local-1")}, "5"},
		"it is newer":               {[]decide.Attempt{answer(decide.Local, "7", "local-1")}, "7"},
		"the last one":              {[]decide.Attempt{answer(decide.Local, "5", "local-1"), answer(decide.Local, "6", "local-1")}, "6"},
		"it has changed since":      {[]decide.Attempt{answer(decide.Local, "4", "local-1")}, ""},
		"it is another one":         {[]decide.Attempt{answer(decide.Local, "7", "local-2")}, ""},
		"it is the copy":            {[]decide.Attempt{answer(decide.Remote, "7", "local-1")}, ""},
		"the copy was made since":   {[]decide.Attempt{answer(decide.Local, "6", "local-1"), answer(decide.Remote, "9", "remote-1")}, "6"},
		"something of another kind": {[]decide.Attempt{{Action: decide.Action{Side: decide.Local}, Answer: &corev1.Secret{}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			seen := held(fixture.Local())
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
	c.live = live{has: fixture.Local()}
	if answer, err := c.read(t.Context(), held(fixture.Local())); err != nil || answer.(*corev1.ConfigMap).Data["a"] != "1" {
		t.Errorf("got %v, %v", answer, err)
	}
	c.live = live{has: fixture.Local(func(m *corev1.ConfigMap) { m.UID = "local-2" })}
	if _, err := c.read(t.Context(), held(fixture.Local())); !retry.IsGone(err) {
		t.Errorf("of another one: %v", err)
	}
}

// TestTakenBackContent is told, though the content had to be read again in between.
func TestTakenBackContent(t *testing.T) {
	c, _, _ := copier()
	c.Syncer = fixture.Copies
	local := fixture.Local(fixture.Sent, fixture.Data("a", "2"))
	before := held(fixture.Remote())
	s := fixture.Wanted(local, before)
	first := decide.WithContent(s, c.effective(s, nil))
	if len(first.Actions) != 1 || first.Actions[0].Verb != decide.Patch {
		t.Fatalf("got %v", first.Actions)
	}
	s.Remote = held(fixture.Remote(func(m *corev1.ConfigMap) { m.ResourceVersion = "10" })) // As it was.
	made := []decide.Attempt{{Action: first.Actions[0], Answer: s.Remote}}
	s.Local = held(local)
	if plan := decide.WithContent(s, c.effective(s, made)); len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Read {
		t.Fatalf("got %v", plan.Actions)
	}
	made = append(made, decide.Attempt{Action: decide.Action{Verb: decide.Read, Side: decide.Local}, Answer: local})
	s.Local = answered(s.Local, made)
	if plan := decide.WithContent(s, c.effective(s, made)); len(plan.Actions) > 0 || plan.Problem == nil {
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
			s := fixture.Wanted(fixture.Local(fixture.Sent), nil)
			create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
			for range 20 {
				c.memory.Succeeded(s.Key, decide.Read, "")
				_ = c.failed(t.Context(), s, create, err) // Nil as soon as it is remembered.
				clock.Step(2 * time.Second)
			}
			if !c.memory.Refusals.Has(s.Key) {
				t.Error("nobody is told")
			}
		})
	}
}
