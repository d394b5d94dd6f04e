package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// sent is one request as a server receives it.
type sent struct {
	Verb, Subresource, Type, Data string
	Grace                         *int64
	UID                           types.UID
	Within                        time.Duration
}

// recorder is an API server that records its requests.
type recorder struct {
	client.Client
	got sent
	err error
}

func (r *recorder) note(ctx context.Context, s sent) error {
	if deadline, ok := ctx.Deadline(); ok {
		s.Within = time.Until(deadline).Round(time.Second)
	}
	r.got = s
	return r.err
}

func (r *recorder) patch(ctx context.Context, subresource string, obj client.Object, how client.Patch) error {
	data, err := how.Data(obj)
	if err != nil {
		return err
	}
	return r.note(ctx, sent{Verb: "patch", Subresource: subresource, Type: string(how.Type()), Data: string(data)})
}

func (r *recorder) Create(ctx context.Context, _ client.Object, _ ...client.CreateOption) error {
	return r.note(ctx, sent{Verb: "create"})
}

func (r *recorder) Delete(ctx context.Context, _ client.Object, options ...client.DeleteOption) error {
	var asked client.DeleteOptions
	asked.ApplyOptions(options)
	return r.note(ctx, sent{Verb: "delete", Grace: asked.GracePeriodSeconds, UID: ptr.Deref(asked.Preconditions.UID, "")})
}

func (r *recorder) Patch(ctx context.Context, obj client.Object, how client.Patch, _ ...client.PatchOption) error {
	return r.patch(ctx, "", obj, how)
}

func (r *recorder) Status() client.SubResourceWriter { return r.SubResource("status") }

func (r *recorder) SubResource(name string) client.SubResourceClient { return &part{to: r, name: name} }

type part struct {
	client.SubResourceClient
	to   *recorder
	name string
}

func (p *part) Patch(ctx context.Context, obj client.Object, how client.Patch, _ ...client.SubResourcePatchOption) error {
	return p.to.patch(ctx, p.name, obj, how)
}

func pod(version string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "remote-1", ResourceVersion: version}}
	change(p)
	return p
}

// TestSend checks that each request has the UID of the object that was read, so another object of its name
// refuses it, and that the request ends in time.
func TestSend(t *testing.T) {
	const strategic, merge = "application/strategic-merge-patch+json", "application/merge-patch+json"
	before := pod("9", func(*corev1.Pod) {})
	labelled := pod("9", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} })
	runs := pod("9", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	for name, test := range map[string]struct {
		action decide.Action
		want   sent
	}{
		"a creation": {decide.Action{Verb: decide.Create, Object: before}, sent{Verb: "create"}},
		"a change": {decide.Action{Verb: decide.Patch, Before: before, Object: labelled},
			sent{Verb: "patch", Type: strategic, Data: `{"metadata":{"labels":{"a":"b"},"uid":"remote-1"}}`}},
		"a change of what was seen only": {decide.Action{Verb: decide.Patch, Before: before, Object: labelled, Locked: true},
			sent{Verb: "patch", Type: merge, Data: `{"metadata":{"labels":{"a":"b"},"resourceVersion":"9","uid":"remote-1"}}`}},
		"a change of a part": {decide.Action{Verb: decide.Patch, Before: before, Object: labelled, Subresource: "resize"},
			sent{Verb: "patch", Subresource: "resize", Type: strategic, Data: `{"metadata":{"labels":{"a":"b"},"uid":"remote-1"}}`}},
		"a status": {decide.Action{Verb: decide.PatchStatus, Before: before, Object: runs},
			sent{Verb: "patch", Subresource: "status", Type: strategic, Data: `{"metadata":{"uid":"remote-1"},"status":{"phase":"Running"}}`}},
		"a deletion": {decide.Action{Verb: decide.Delete, Object: before}, sent{Verb: "delete", UID: "remote-1"}},
		"a deletion at once": {decide.Action{Verb: decide.Delete, Object: before, Grace: ptr.To[int64](0)},
			sent{Verb: "delete", UID: "remote-1", Grace: ptr.To[int64](0)}},
	} {
		t.Run(name, func(t *testing.T) {
			to := &recorder{}
			obj, _ := test.action.Object.DeepCopyObject().(client.Object)
			if err := Send(t.Context(), to, obj, test.action); err != nil {
				t.Fatal(err)
			}
			test.want.Within = 15 * time.Second
			if diff := cmp.Diff(test.want, to.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := Send(t.Context(), &recorder{}, before, decide.Action{Verb: decide.Find, Object: before}); err == nil {
		t.Error("a look is sent")
	}
	gone := &recorder{err: apierrors.NewNotFound(enginetest.Resource, "web")}
	if err := Send(t.Context(), gone, before, decide.Action{Verb: decide.Delete, Object: before}); err != nil {
		t.Errorf("the deletion of what is gone: %v", err)
	}
}

// TestPatchOfADigestIsOfItsFieldOnly checks that content replaces a digest, and nothing else.
func TestPatchOfADigestIsOfItsFieldOnly(t *testing.T) {
	before := fixture.Held(fixture.Remote())
	after := before.DeepCopy()
	after.Data, after.Labels = map[string]string{"a": "3"}, map[string]string{"x": "y"}
	data, err := locked(before).Data(after)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": "3", "$patch": "replace"}, fields["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if _, replaced := fields["metadata"]["$patch"]; replaced {
		t.Errorf("it replaces the metadata, too: %s", data)
	}
}

// acting is an Actor between two API servers.
type acting struct {
	*Actor[*corev1.ConfigMap]
	rig                *enginetest.Rig
	consumer, provider *enginetest.Server
	requests           []string
	sent               []string
	done               []string
}

func newActing() *acting {
	c, rig := actor()
	a := &acting{Actor: c, rig: rig}
	a.consumer = &enginetest.Server{Name: "consumer", Requests: &a.requests}
	a.provider = &enginetest.Server{Name: "provider", Requests: &a.requests}
	rig.Remotes.Live = a.provider
	c.Consumer, c.Provider, c.Live = a.consumer, a.provider, a.consumer
	c.Sent = func(obj client.Object) { a.sent = append(a.sent, client.ObjectKeyFromObject(obj).String()) }
	c.Kind.Done = func(_ fixture.ObjectState, action decide.Action, seen time.Time) {
		line := string(action.Verb)
		if !seen.IsZero() {
			line += " of " + seen.Format(time.TimeOnly)
		}
		a.done = append(a.done, line)
	}
	return a
}

// TestDo checks that actions run in order, up to the first that cannot run.
func TestDo(t *testing.T) {
	create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote(func(m *corev1.ConfigMap) { m.UID, m.ResourceVersion = "", "" })}
	pin := decide.Action{Verb: decide.Patch, Side: decide.Local, Before: fixture.Local(), Object: fixture.Local(fixture.Sent)}
	remove := decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote(), Grace: ptr.To[int64](0)}
	read := decide.Action{Verb: decide.Read, Side: decide.Local, Object: fixture.Local()}
	forbidden := apierrors.NewForbidden(enginetest.Resource, "settings", nil)
	broken := errors.New("connection reset by peer")
	notFound := error(apierrors.NewNotFound(enginetest.Resource, "settings"))
	gone := fixture.Remote(fixture.Data("a", "2"))
	change := decide.Action{Verb: decide.Patch, Side: decide.Remote, Before: fixture.Remote(), Object: gone}
	type outcome struct {
		Requests, Answers, Sent, Done []string
		All                           bool
		Err                           error
		Refused, Unanswered           bool
	}
	for name, test := range map[string]struct {
		actions []decide.Action
		change  func(*acting)
		want    outcome
	}{
		"nothing": {nil, nil, outcome{All: true}},
		"a pin, and a copy": {[]decide.Action{pin, create}, nil, outcome{
			Requests: []string{"consumer: patch team/settings", "provider: create team-home/settings"},
			Answers:  []string{"team/settings 101", "team-home/settings 101"},
			Sent:     []string{"team-home/settings"}, Done: []string{"patch", "create"}, All: true}},
		"the pin is refused": {[]decide.Action{pin, create}, func(a *acting) { a.consumer.Refuses = refuse(forbidden) }, outcome{
			Requests: []string{"consumer: patch team/settings: Forbidden"}, Refused: true}},
		"it was refused before": {[]decide.Action{pin}, func(a *acting) {
			a.rig.Attempts.Refuse(types.NamespacedName{Namespace: "team", Name: "settings"}, "5", decide.Refused{Verb: decide.Patch})
		}, outcome{Requests: []string{"consumer: patch team/settings"}, Answers: []string{"team/settings 101"}, Done: []string{"patch"}, All: true}},
		"somebody has made the copy already": {[]decide.Action{create, pin}, func(a *acting) { a.provider.Put(fixture.Remote()) }, outcome{
			Requests: []string{"provider: create team-home/settings", "provider: get team-home/settings"}}},
		"what it changes is gone": {[]decide.Action{change, pin}, nil, outcome{Requests: []string{"provider: patch team-home/settings"}, Err: notFound}},
		"the namespace is gone": {[]decide.Action{create, pin}, func(a *acting) { a.provider.Refuses = refuse(notFound) }, outcome{
			Requests: []string{"provider: create team-home/settings: NotFound"}, Refused: true}},
		"the copy is refused": {[]decide.Action{pin, create}, func(a *acting) { a.provider.Refuses = refuse(forbidden) }, outcome{
			Requests: []string{"consumer: patch team/settings", "provider: create team-home/settings: Forbidden"},
			Answers:  []string{"team/settings 101"}, Done: []string{"patch"}, Refused: true}},
		"the connection breaks": {[]decide.Action{pin, create}, func(a *acting) { a.provider.Refuses = refuse(broken) }, outcome{
			Requests: []string{"consumer: patch team/settings", "provider: create team-home/settings: "},
			Answers:  []string{"team/settings 101"}, Done: []string{"patch"}, Err: broken, Unanswered: true}},
		"a deletion has no answer": {[]decide.Action{remove, pin}, func(a *acting) { a.provider.Put(fixture.Remote()) }, outcome{
			Requests: []string{"provider: delete team-home/settings", "consumer: patch team/settings"},
			Answers:  []string{"team/settings 101"}, Done: []string{"delete", "patch"}, All: true}},
		"a read": {[]decide.Action{read}, nil, outcome{
			Requests: []string{"consumer: get team/settings"}, Answers: []string{"team/settings 5"}, Done: []string{"read"}, All: true}},
		"others are held back": {[]decide.Action{pin, create}, func(a *acting) {
			a.Kind.Ended = func(*corev1.ConfigMap, decide.Action) bool { return true }
			for a.rig.Attempts.Sent.Wait("team") == 0 {
				a.rig.Attempts.Sent.Note(types.NamespacedName{Namespace: "team", Name: "other"}, "uid")
			}
		}, outcome{Requests: []string{"consumer: patch team/settings"}, Answers: []string{"team/settings 101"}, Done: []string{"patch"}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newActing()
			a.consumer.Put(fixture.Local())
			if test.change != nil {
				test.change(a)
			}
			made, all, err := a.Do(t.Context(), fixture.Observed(fixture.Local(), nil), decide.Plan{Actions: test.actions})
			if apierrors.IsNotFound(err) != apierrors.IsNotFound(test.want.Err) || !apierrors.IsNotFound(err) && !errors.Is(err, test.want.Err) {
				t.Errorf("got the error %v", err)
			}
			key := types.NamespacedName{Namespace: "team", Name: "settings"}
			got := outcome{Requests: a.requests, Sent: a.sent, Done: a.done, All: all, Err: test.want.Err,
				Refused: a.rig.IsRefused(key), Unanswered: a.rig.Attempts.Get(key).Unanswered == "local-1"}
			for _, attempt := range made {
				if attempt.Verb == "" || attempt.Object == nil {
					t.Errorf("it is not said what was answered: %v", attempt)
				}
				got.Answers = append(got.Answers, client.ObjectKeyFromObject(attempt.Response).String()+" "+attempt.Response.GetResourceVersion())
			}
			if diff := cmp.Diff(test.want, got, cmp.Comparer(errors.Is)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func refuse(err error) func(string, *corev1.ConfigMap) error {
	return func(string, *corev1.ConfigMap) error { return err }
}

// TestWhatWasDoneIsSeen checks that writes are seen before any cache shows them.
func TestWhatWasDoneIsSeen(t *testing.T) {
	a := newActing()
	a.consumer.Put(fixture.Local())
	s := fixture.Observed(fixture.Local(), nil)
	do := func(actions ...decide.Action) {
		t.Helper()
		if _, all, err := a.Do(t.Context(), s, decide.Plan{Actions: actions}); err != nil || !all {
			t.Fatal(all, err)
		}
	}
	at := types.NamespacedName{Namespace: "team-home", Name: "settings"}
	do(decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote(func(m *corev1.ConfigMap) { m.UID, m.ResourceVersion = "", "" })})
	if !a.Remotes.IsStale(at) || a.Locals.IsStale(s.Key) {
		t.Error("the copy is not seen, or the consumer's object was written")
	}
	do(decide.Action{Verb: decide.Patch, Side: decide.Local, Before: fixture.Local(), Object: fixture.Local(fixture.Sent)})
	if !a.Locals.IsStale(s.Key) {
		t.Error("the pin is not seen")
	}
	places := []decide.Destination{{Target: fixture.Target, Local: "team", Open: true}}
	found, err := a.Remotes.RemotesFor(t.Context(), s.Key, places)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	do(decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: found[0], Grace: ptr.To[int64](0)})
	if found, err := a.Remotes.RemotesFor(t.Context(), s.Key, places); err != nil || len(found) > 0 {
		t.Errorf("what is deleted is still seen: %v, %v", found, err)
	}
}

// TestNothingLocalIsDeletedWithoutTheLease checks this because another manager may have sent the object since.
func TestNothingLocalIsDeletedWithoutTheLease(t *testing.T) {
	fenced := errors.New("the Lease has run out")
	s := fixture.Observed(fixture.Local(), nil)
	remove := decide.Action{Verb: decide.Delete, Side: decide.Local, Object: fixture.Local(), AllowsSuccessor: true, Grace: ptr.To[int64](0)}
	for _, test := range []struct {
		held error
		want []string
	}{{fenced, nil}, {nil, []string{"consumer: delete team/settings"}}} {
		a := newActing()
		a.consumer.Put(fixture.Local())
		a.Fenced = func() error { return test.held }
		_, all, err := a.Do(t.Context(), s, decide.Plan{Actions: []decide.Action{remove}})
		if !errors.Is(err, test.held) || all != (test.held == nil) {
			t.Errorf("held: %v; it is all done: %v, %v", test.held, all, err)
		}
		if diff := cmp.Diff(test.want, a.requests); diff != "" {
			t.Errorf("held: %v (-want +got):\n%s", test.held, diff)
		}
	}
}

// TestStatusesAreCounted checks that a written status is counted, and reports for how long its change was not
// shown.
func TestStatusesAreCounted(t *testing.T) {
	a := newActing()
	s := fixture.Observed(fixture.Local(), fixture.Remote())
	a.rig.Attempts.RemoteChanged(s.Key)
	a.succeeded(s, decide.Action{Verb: decide.Patch, Side: decide.Local, Object: fixture.Local()})
	for range 5 {
		a.succeeded(s, decide.Action{Verb: decide.PatchStatus, Side: decide.Local, Object: fixture.Local()})
	}
	if wait := attempts.Statuses.Wait(a.rig.Attempts.Get(s.Key).StatusesUsed, a.rig.Clock.Now()); wait != time.Second {
		t.Errorf("the next waits for %s", wait)
	}
	status := string(decide.PatchStatus)
	if diff := cmp.Diff([]string{"patch", status + " of " + builder.Epoch.Format(time.TimeOnly), status, status, status, status}, a.done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.Kind.Done = nil
	a.succeeded(s, decide.Action{Verb: decide.PatchStatus, Side: decide.Local, Object: fixture.Local()}) // Nobody asks.
}

// TestCopiesThatAreMadeAgainWait checks, for each kind that is copied, that the creation waits if somebody
// deletes the copies.
func TestCopiesThatAreMadeAgainWait(t *testing.T) {
	for selection, want := range map[kind.Selection]time.Duration{kind.Referenced: time.Second, kind.InMappedNamespace: time.Second, kind.OnVirtualNode: 0} {
		a := newActing()
		a.Kind.Selection = selection
		s := fixture.Observed(fixture.Local(), nil)
		create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
		a.succeeded(s, create)
		if wait, _ := a.rig.Attempts.Get(s.Key).Writes.Wait(create, a.rig.Clock.Now()); wait != want {
			t.Errorf("%s: it is made again after %s, want %s", selection, wait, want)
		}
	}
}

// TestFind checks what the provider itself says about an object that its cache does not show.
func TestFind(t *testing.T) {
	type outcome struct {
		Requests            []string
		Lost, Refused, Seen bool
		Labelled            bool
	}
	get, patched := "provider: get team-home/settings", "provider: patch team-home/settings"
	unlabelled := func(m *corev1.ConfigMap) { m.Labels = nil }
	theirs := func(m *corev1.ConfigMap) { m.Labels, m.Annotations, m.UID = nil, nil, "theirs" }
	names := func(forUID string) fixture.Option {
		return func(m *corev1.ConfigMap) {
			m.Annotations = decide.With(decide.With(m.Annotations, "spillway.io/remote-uid", "remote-1"), "spillway.io/remote-for-uid", forUID)
		}
	}
	for name, test := range map[string]struct {
		local    *corev1.ConfigMap
		there    *corev1.ConfigMap
		creating bool
		want     outcome
	}{
		"it is gone":                     {fixture.Local(names("local-1")), nil, false, outcome{Requests: []string{get}, Lost: true}},
		"it is there":                    {fixture.Local(names("local-1")), fixture.Remote(), false, outcome{Requests: []string{get}, Seen: true, Labelled: true}},
		"its labels are gone":            {fixture.Local(names("local-1")), fixture.Remote(unlabelled), false, outcome{Requests: []string{get, patched}, Seen: true, Labelled: true}},
		"they are, and it is for others": {fixture.Local(names("local-0")), fixture.Remote(unlabelled), false, outcome{Requests: []string{get}, Lost: true}},
		"another one has its name":       {fixture.Local(names("local-1")), fixture.Remote(theirs), false, outcome{Requests: []string{get}, Lost: true}},
		"one without annotations of ours": {fixture.Local(names("local-1")), fixture.Remote(func(m *corev1.ConfigMap) { m.Labels, m.Annotations = nil, nil }), false,
			outcome{Requests: []string{get}, Lost: true}},
		"it was made already":      {fixture.Local(), fixture.Remote(), true, outcome{Requests: []string{get}, Seen: true, Labelled: true}},
		"somebody has its name":    {fixture.Local(), fixture.Remote(theirs), true, outcome{Requests: []string{get}, Refused: true}},
		"its labels are taken off": {fixture.Local(), fixture.Remote(unlabelled), true, outcome{Requests: []string{get}, Refused: true}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newActing()
			if test.there != nil {
				a.provider.Put(test.there)
			}
			wanted := fixture.Remote()
			if test.creating {
				wanted.UID = ""
			}
			s := fixture.Observed(test.local, nil)
			if err := a.find(t.Context(), s, wanted); err != nil {
				t.Fatal(err)
			}
			at := client.ObjectKeyFromObject(wanted)
			got := outcome{
				Requests: a.requests, Lost: a.rig.Attempts.Get(s.Key).Lost == "local-1", Refused: a.rig.IsRefused(s.Key), Seen: a.Remotes.IsStale(at),
			}
			stored := &corev1.ConfigMap{}
			if err := a.provider.Get(t.Context(), at, stored); err == nil {
				got.Labelled = fixture.Mark.IsOn(stored)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.want.Refused {
				refused := a.rig.Attempts.Get(s.Key).Refusals.Of(s.Local.ResourceVersion, "team-home", a.rig.Clock.Now())
				if refused == nil || refused.Reason != "NameConflict" || refused.Verb != decide.Create {
					t.Errorf("refused is %v", refused)
				}
			}
		})
	}
}

// TestProblemOf checks the reason and the message of an API server's refusal.
func TestProblemOf(t *testing.T) {
	forbidden := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "not\nallowed"}}
	internal := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Reason: metav1.StatusReasonInternalError, Message: "no answer"}}
	for name, test := range map[string]struct {
		verb decide.Verb
		side decide.Side
		err  error
		want field.Problem
	}{
		"a creation":     {decide.Create, decide.Remote, forbidden, field.Problem{Reason: "Rejected", Message: "provider eu refuses to create team-home/settings: not allowed"}},
		"a change":       {decide.Patch, decide.Remote, forbidden, field.Problem{Reason: "UpdateRejected", Message: "provider eu refuses to patch team-home/settings: not allowed"}},
		"a deletion":     {decide.Delete, decide.Remote, forbidden, field.Problem{Reason: "DeletionFailed", Message: "provider eu refuses to delete team-home/settings: not allowed"}},
		"a status":       {decide.PatchStatus, decide.Local, forbidden, field.Problem{Reason: "StatusRejected", Message: "the consumer refuses to patch the status of team-home/settings: not allowed"}},
		"a server error": {decide.Create, decide.Remote, internal, field.Problem{Reason: "ServerError", Message: "provider eu fails to create team-home/settings: no answer"}},
		"in an error":    {decide.Create, decide.Remote, fmt.Errorf("sending it: %w", forbidden), field.Problem{Reason: "Rejected", Message: "provider eu refuses to create team-home/settings: not allowed"}},
		"too long":       {decide.Create, decide.Remote, errors.New(strings.Repeat("x", 513)), field.Problem{Reason: "Rejected", Message: "provider eu refuses to create team-home/settings: " + strings.Repeat("x", 511) + "…"}},
		"just not":       {decide.Create, decide.Remote, errors.New(strings.Repeat("ü", 512)), field.Problem{Reason: "Rejected", Message: "provider eu refuses to create team-home/settings: " + strings.Repeat("ü", 512)}},
		"no status":      {decide.Create, decide.Remote, errors.New("broken"), field.Problem{Reason: "Rejected", Message: "provider eu refuses to create team-home/settings: broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := problemOf(decide.Action{Verb: test.verb, Side: test.side, Object: fixture.Remote()}, "eu", test.err)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConflicts checks that a conflict leads to a new decision, except a creation that meets only conflicts.
func TestConflicts(t *testing.T) {
	conflict := apierrors.NewConflict(enginetest.Resource, "settings", errors.New("overtaken"))
	for verb, want := range map[decide.Verb]bool{decide.Create: true, decide.Patch: false, decide.Delete: false} {
		t.Run(string(verb), func(t *testing.T) {
			c, rig := actor()
			s := fixture.Observed(fixture.Local(), nil)
			a := decide.Action{Verb: verb, Side: decide.Remote, Object: fixture.Remote()}
			for second := range 6 {
				if err := c.failed(t.Context(), s, a, conflict); !apierrors.IsConflict(err) {
					t.Fatalf("after %d seconds: %v", second, err)
				}
				rig.Clock.Step(time.Second)
			}
			if err := c.failed(t.Context(), s, a, conflict); (err == nil) != want || rig.IsRefused(s.Key) != want {
				t.Errorf("in the end: %v", err)
			}
		})
	}
}

// TestMayGo checks that only creations are held back, and only for kinds that can end in the provider.
func TestMayGo(t *testing.T) {
	for name, test := range map[string]struct {
		ends bool
		verb decide.Verb
		side decide.Side
		want bool
	}{
		"a creation":           {true, decide.Create, decide.Remote, false},
		"of a kind that stays": {false, decide.Create, decide.Remote, true},
		"a change":             {true, decide.Patch, decide.Remote, true},
		"one in the consumer":  {true, decide.Create, decide.Local, true},
		"a status":             {true, decide.PatchStatus, decide.Local, true},
	} {
		c, rig := actor()
		if test.ends {
			rig.Kind.Ended = func(*corev1.ConfigMap, decide.Action) bool { return true }
		}
		s := fixture.Observed(fixture.Local(), nil)
		for rig.Attempts.Sent.Wait("team") == 0 {
			rig.Attempts.Sent.Note(s.Key, "uid")
		}
		if got := c.mayGo(s, decide.Action{Verb: test.verb, Side: test.side, Object: fixture.Remote()}); got != test.want {
			t.Errorf("%s may go: %t", name, got)
		}
	}
}

// TestWhatCounts checks what counts as an end: a status in the consumer that says so, for an object that was
// sent.
func TestWhatCounts(t *testing.T) {
	act := func(verb decide.Verb, side decide.Side) decide.Action {
		return decide.Action{Verb: verb, Side: side, Object: fixture.Local()}
	}
	create, status := act(decide.Create, decide.Remote), act(decide.PatchStatus, decide.Local)
	for name, test := range map[string]struct {
		begins, ends decide.Action
		want         bool
	}{
		"sent, and ended":         {create, status, true},
		"changed, and ended":      {act(decide.Patch, decide.Remote), status, false},
		"created here, and ended": {act(decide.Create, decide.Local), status, false},
		"sent, and changed":       {create, act(decide.Patch, decide.Local), false},
		"sent, and changed there": {create, act(decide.PatchStatus, decide.Remote), false},
	} {
		t.Run(name, func(t *testing.T) {
			a := newActing()
			a.Kind.Ended = func(*corev1.ConfigMap, decide.Action) bool { return true }
			for i := range 100 {
				local := fixture.Local(func(m *corev1.ConfigMap) { m.Name, m.UID = fmt.Sprint(i), types.UID(fmt.Sprint(i)) })
				s := fixture.Observed(local, nil)
				s.Key = decide.KeyOf(local)
				a.succeeded(s, test.begins)
				a.succeeded(s, test.ends)
			}
			if got := a.rig.Attempts.Sent.Wait("team") > 0; got != test.want {
				t.Errorf("the next are held back: %t", got)
			}
			gone := fixture.Observed(nil, fixture.Remote())
			a.succeeded(gone, act(decide.Delete, decide.Remote)) // Leftovers in the provider do not count.
			a.noteAnswer(gone, create, nil)
		})
	}
}

// TestRelabel checks that the mark is only restored on the object that was read.
func TestRelabel(t *testing.T) {
	c, _ := actor()
	to := &recorder{}
	c.Provider = to
	found := fixture.Remote(func(m *corev1.ConfigMap) { m.Labels = nil })
	if err := c.relabel(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(to.got.Data, `"resourceVersion":"9"`) || !strings.Contains(to.got.Data, `"uid":"remote-1"`) || !c.Remotes.IsStale(client.ObjectKeyFromObject(found)) {
		t.Errorf("got %+v", to.got)
	}
	to.err = errors.New("broken")
	if err := c.relabel(t.Context(), found); !errors.Is(err, to.err) {
		t.Errorf("got %v", err)
	}
	nobody := fixture.Remote(func(m *corev1.ConfigMap) { m.UID = "" })
	if c.recorded(nil, found) || c.recorded(fixture.Local(), nobody) {
		t.Error("what nothing names is recorded")
	}
}

// TestReadFails checks that a failed read returns the API server's answer.
func TestReadFails(t *testing.T) {
	c, _ := actor()
	broken := errors.New("broken")
	c.Live = &enginetest.Cache{Err: broken}
	if _, err := c.read(t.Context(), fixture.Local()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestFoundIsAnAnswer checks that an object that was found no longer counts as unanswered.
func TestFoundIsAnAnswer(t *testing.T) {
	a := newActing()
	a.provider.Put(fixture.Remote())
	s := fixture.Observed(fixture.Local(), nil)
	a.rig.Attempts.Change(s.Key, func(r *attempts.Record) { r.Unanswered = "local-1" })
	if err := a.find(t.Context(), s, fixture.Remote()); err != nil || a.rig.Attempts.Get(s.Key).Unanswered == "local-1" {
		t.Errorf("it is unanswered still, %v", err)
	}
}
