package kinds

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/kind"
)

// part is one promise that every kind keeps.
type part struct {
	name string
	play func(context.Context, *stage) error
	// alone says that no other part runs at the same time, and that the parts before it have ended.
	alone bool
}

// parts returns all parts. The last ones remove what the others need.
func parts() []part {
	return []part{
		{name: "created", play: created},
		{name: "changed here", play: changedHere},
		{name: "drifted there", play: driftedThere},
		{name: "reported there", play: reportedThere},
		{name: "warned of there", play: warnedThere},
		{name: "deleted there", play: deletedThere},
		{name: "deleted here", play: deletedHere},
		{name: "made again under its name", play: madeAgain},
		{name: "made again beside what is left of the first", play: madeAgainBeside},
		{name: "a foreign object in the way", play: foreignInTheWay},
		{name: "a long name", play: longName},
		{name: "hostile content", play: hostileContent},
		{name: "killed after each write", play: killedAfterEachWrite, alone: true},
		{name: "restarted over what is done", play: restarted, alone: true},
		{name: "un-offloaded", play: unOffloaded, alone: true},
		{name: "binding drained", play: drained, alone: true},
	}
}

// created: the object is sent once, with our mark.
func created(ctx context.Context, s *stage) error {
	_, _, err := s.createSent(ctx, team, "created")
	return err
}

// changedHere: a change by the owner arrives in the provider.
func changedHere(ctx context.Context, s *stage) error {
	u, _, err := s.createSent(ctx, team, "changed")
	if err != nil {
		return err
	}
	return u.changeHere(ctx)
}

// changeHere makes the owner's change, and waits until it has arrived.
func (u *subject) changeHere(ctx context.Context) error {
	local, err := u.local(ctx)
	if err != nil {
		return err
	}
	if err := u.differs(local, u.Change); err != nil {
		return err
	}
	if err := change(ctx, u.here(), local, u.Change); err != nil {
		return err
	}
	_, err = u.sent(ctx)
	return err
}

// driftedThere: a change by somebody in the provider is corrected.
func driftedThere(ctx context.Context, s *stage) error {
	u, remote, err := s.createSent(ctx, team, "drifted")
	if err != nil {
		return err
	}
	if err := u.differs(remote, u.Drift); err != nil {
		return err
	}
	if err := change(ctx, s.there(), remote, u.Drift); err != nil {
		return err
	}
	_, err = u.sent(ctx)
	return err
}

// differs returns an error unless a change alters what the sample shows.
func (u *subject) differs(object client.Object, by func(client.Object)) error {
	changed := object.DeepCopyObject().(client.Object)
	by(changed)
	if u.Shows(changed) == u.Shows(object) {
		return errors.New("this change of the sample changes nothing that it shows")
	}
	return nil
}

// reportedThere: a status comes back, if the kind reports one.
func reportedThere(ctx context.Context, s *stage) error {
	u, remote, err := s.createSent(ctx, team, "reported")
	if err != nil || u.Report == nil {
		return err
	}
	return u.report(ctx, remote)
}

// report changes the status in the provider, and waits until the local object shows it.
func (u *subject) report(ctx context.Context, remote client.Object) error {
	var want string
	err := u.eventually(ctx, "a remote object that has something to report", func(ctx context.Context) error {
		if err := u.there().Get(ctx, client.ObjectKeyFromObject(remote), remote); err != nil {
			return err
		}
		before := remote.DeepCopyObject().(client.Object)
		u.Report(remote)
		if want = u.Reported(remote); want == u.Reported(before) {
			return errors.New("the report of the sample changes nothing that is reported")
		}
		return u.there().Status().Patch(ctx, remote, client.MergeFrom(before))
	})
	if err != nil {
		return err
	}
	return u.eventually(ctx, "the report to come back", func(ctx context.Context) error {
		local, err := u.local(ctx)
		if err != nil {
			return err
		}
		return same("what is reported", u.Reported(local), want)
	})
}

// reportAlone makes the remote object report a status, if this is all that the kind writes in the consumer.
func (u *subject) reportAlone(ctx context.Context, remote client.Object) error {
	if u.Report == nil || !u.kind.Selection.ClusterWide() {
		return nil
	}
	return u.report(ctx, remote)
}

// warnedThere: the local object gets the provider's warnings, if the kind is namespaced.
func warnedThere(ctx context.Context, s *stage) error {
	const reason = "WarnedThere"
	u, remote, err := s.createSent(ctx, team, "warned")
	if err != nil || s.kind.Scope != kind.ScopeNamespaced {
		return err
	}
	gvk, err := apiutil.GVKForObject(remote, s.there().Scheme())
	if err != nil {
		return err
	}
	about := corev1.ObjectReference{Namespace: remote.GetNamespace(), Name: remote.GetName(), UID: remote.GetUID()}
	about.APIVersion, about.Kind = gvk.ToAPIVersionAndKind()
	if err := s.there().Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: remote.GetNamespace(), GenerateName: "warned-"},
		InvolvedObject: about, Type: corev1.EventTypeWarning, Reason: reason, Message: "there is no room", LastTimestamp: metav1.Now(),
	}); err != nil {
		return err
	}
	return s.eventually(ctx, "the warning to be told", func(ctx context.Context) error {
		var events corev1.EventList
		if err := s.here().List(ctx, &events, client.InNamespace(u.key.Namespace), client.MatchingFields{"involvedObject.uid": string(u.uid), "reason": reason}); err != nil {
			return err
		}
		if len(events.Items) != 1 {
			return fmt.Errorf("%d events tell it", len(events.Items))
		}
		shown := events.Items[0].InvolvedObject
		return same("what it is about", shown, corev1.ObjectReference{
			APIVersion: about.APIVersion, Kind: about.Kind, Namespace: u.key.Namespace, Name: u.key.Name, UID: u.uid,
		})
	})
}

// deletedThere: the remote object is created again, or the local object says for good that it is lost.
func deletedThere(ctx context.Context, s *stage) error {
	u, remote, err := s.createSent(ctx, team, "deleted-there")
	if err != nil {
		return err
	}
	uid := remote.GetUID()
	if err := s.there().Delete(ctx, remote, client.GracePeriodSeconds(0), client.Preconditions{UID: &uid}); err != nil {
		return err
	}
	if u.Lost == nil {
		return u.eventually(ctx, "another one", func(ctx context.Context) error {
			next, err := u.isSent(ctx)
			if err == nil && next.GetUID() == uid {
				return errors.New("it is there still")
			}
			return err
		})
	}
	lost := func(ctx context.Context) error {
		local, err := u.local(ctx)
		if err != nil {
			return err
		}
		if !u.Lost(local) {
			return fmt.Errorf("it does not say that it is lost: %s; there: %w", brief(local), u.nothingThere(ctx))
		}
		return u.nothingThere(ctx)
	}
	if err := u.eventually(ctx, "the loss to be told", lost); err != nil {
		return err
	}
	if err := s.passed(ctx, team, u.name); err != nil {
		return err
	}
	return lost(ctx)
}

// holder is a finalizer by which somebody in the provider keeps an object.
const holder = "example.com/hold"

func hold(object client.Object) { object.SetFinalizers([]string{holder}) }

// release removes the finalizers of an object that somebody keeps in the provider.
func (s *stage) release(ctx context.Context, object client.Object) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	return client.IgnoreNotFound(s.there().Patch(ctx, object, patch))
}

// deletedHere: the object disappears in the provider first, and then here. If nothing keeps it here, it
// disappears here at once, and then in the provider.
func deletedHere(ctx context.Context, s *stage) error {
	u, remote, err := s.createSent(ctx, team, "deleted-here")
	if err != nil {
		return err
	}
	if err := change(ctx, s.there(), remote, hold); err != nil {
		return err
	}
	defer func() { _ = s.release(context.WithoutCancel(ctx), remote) }() // In any case.
	if err := s.here().Delete(ctx, u.Object); err != nil {
		return err
	}
	if err := s.leaving(ctx, remote); err != nil {
		return err
	}
	if err := s.passed(ctx, team, u.name); err != nil {
		return err
	}
	if err := u.staysUntilGone(ctx); err != nil {
		return err
	}
	if err := s.release(ctx, remote); err != nil {
		return err
	}
	return u.gone(ctx, u.Object)
}

// staysUntilGone returns an error unless the local object exists as long as the remote one does. If nothing
// keeps the kind here, the local object must be gone.
func (u *subject) staysUntilGone(ctx context.Context) error {
	local, err := u.local(ctx)
	switch {
	case u.kind.Selection.ClusterWide() && apierrors.IsNotFound(err):
		return nil
	case u.kind.Selection.ClusterWide():
		return fmt.Errorf("something keeps it: %s, %w", brief(local), err)
	case err != nil:
		return fmt.Errorf("it must stay until it is gone in the provider: %w", err)
	case local.GetUID() != u.uid:
		return errors.New("it is another one")
	}
	return nil
}

// leaving waits until an object of the provider is being deleted.
func (s *stage) leaving(ctx context.Context, remote client.Object) error {
	is := remote.DeepCopyObject().(client.Object)
	return s.eventually(ctx, "the remote object to be deleted", func(ctx context.Context) error {
		if err := s.there().Get(ctx, client.ObjectKeyFromObject(remote), is); err != nil {
			return err
		}
		if is.GetDeletionTimestamp().IsZero() {
			return errors.New("nobody has deleted it")
		}
		return same("the UID", is.GetUID(), remote.GetUID())
	})
}

// madeAgain: another object with the same name is sent anew.
func madeAgain(ctx context.Context, s *stage) error {
	first, was, err := s.createSent(ctx, team, "again")
	if err != nil {
		return err
	}
	if err := first.remove(ctx); err != nil {
		return err
	}
	second, is, err := s.createSent(ctx, team, "again")
	if err != nil {
		return err
	}
	if first.uid == second.uid || was.GetUID() == is.GetUID() {
		return errors.New("it is the first one still")
	}
	return nil
}

// madeAgainBeside: another object with the same name waits until the remote object of the first one is gone,
// whatever has happened to the first one.
func madeAgainBeside(ctx context.Context, s *stage) error {
	first, was, err := s.createSent(ctx, team, "beside")
	if err != nil {
		return err
	}
	if err := change(ctx, s.there(), was, hold); err != nil {
		return err
	}
	defer func() { _ = s.release(context.WithoutCancel(ctx), was) }() // In any case.
	if err := first.force(ctx); err != nil {
		return err
	}
	second, err := s.create(ctx, team, "beside")
	if err != nil {
		return err
	}
	if err := s.leaving(ctx, was); err != nil {
		return err
	}
	if err := s.passed(ctx, team, second.name); err != nil {
		return err
	}
	if remotes, err := second.standIns(ctx); err != nil || len(remotes) != 1 || remotes[0].GetUID() != was.GetUID() {
		return fmt.Errorf("%d objects stand for it while the first is held: %w", len(remotes), err)
	}
	if err := s.release(ctx, was); err != nil {
		return err
	}
	is, err := second.sent(ctx)
	if err != nil {
		return err
	}
	if first.uid == second.uid || was.GetUID() == is.GetUID() {
		return errors.New("it is the first one still")
	}
	return nil
}

// force removes the local objects, even if somebody wants to keep them.
func (u *subject) force(ctx context.Context) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	for _, object := range u.all() {
		if err := client.IgnoreNotFound(u.here().Delete(ctx, object, client.GracePeriodSeconds(0))); err != nil {
			return err
		}
		if err := client.IgnoreNotFound(u.here().Patch(ctx, object, patch)); err != nil {
			return err
		}
	}
	return nil
}

// foreignInTheWay: an object that somebody else has created stays untouched, and users are told. The sample
// is sent when that object is gone.
func foreignInTheWay(ctx context.Context, s *stage) error {
	const name = "foreign"
	first, remote, err := s.createSent(ctx, team, name)
	if err != nil {
		return err
	}
	if err := first.remove(ctx); err != nil {
		return err
	}
	foreign := s.sample(team, name, "").Object
	foreign.SetNamespace(remote.GetNamespace())
	foreign.SetName(remote.GetName())
	foreign.SetLabels(s.stranger())
	if err := s.there().Create(ctx, foreign); err != nil {
		return err
	}
	u, err := s.create(ctx, team, name)
	if err != nil {
		return err
	}
	told := func(ctx context.Context) error { return u.told(ctx, v1alpha1.ReasonNameConflict) }
	if err := s.eventually(ctx, "somebody to be told of the foreign object", told); err != nil {
		return err
	}
	is := s.kind.New()
	if err := s.there().Get(ctx, client.ObjectKeyFromObject(foreign), is); err != nil {
		return err
	}
	if err := errors.Join(
		same("the UID of the foreign object", is.GetUID(), foreign.GetUID()), same("that it stays", is.GetDeletionTimestamp().IsZero(), true),
		same("what it shows", u.Shows(is), u.Shows(foreign)), same("that it has our mark", s.mark().IsOn(is), false),
	); err != nil {
		return err
	}
	if err := s.there().Delete(ctx, foreign, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	_, err = u.sent(ctx)
	return err
}

// longName: every name that Kubernetes accepts is sent, and two names never become one.
func longName(ctx context.Context, s *stage) error {
	const longest, label = 253, 63
	var seen []client.ObjectKey
	for _, end := range []string{"a", "b"} {
		name := strings.Repeat("n", longest-1) + end
		probe := s.sample(team, name, "").Object
		if err := s.here().Create(ctx, probe, client.DryRunAll); apierrors.IsInvalid(err) {
			name = name[longest-label:]
		} else if err != nil {
			return err
		}
		_, remote, err := s.createSent(ctx, team, name)
		if err != nil {
			return err
		}
		seen = append(seen, client.ObjectKeyFromObject(remote))
	}
	if seen[0] == seen[1] {
		return fmt.Errorf("two objects are one in the provider: %s", seen[0])
	}
	return nil
}

// hostileContent: somebody in the provider writes a word into every field that they may write. The word does
// not come to the consumer.
func hostileContent(ctx context.Context, s *stage) error {
	const word = "hostile-word"
	u, remote, err := s.createSent(ctx, team, "content")
	if err != nil {
		return err
	}
	by := func(object client.Object) { u.Hostile(object, word) }
	if err := change(ctx, s.there(), remote, by); err != nil {
		return err
	}
	if err := changeStatus(ctx, s.there(), remote, by); err != nil {
		return err
	}
	// A later change is seen, so the hostile one was seen too.
	if u.Report != nil {
		err = u.report(ctx, remote)
	} else {
		err = u.changeHere(ctx)
	}
	if err != nil {
		return err
	}
	for _, object := range u.all() {
		if err := s.here().Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if text := asJSON(object); strings.Contains(text, word) {
			return fmt.Errorf("the word has come to the consumer: %s", text)
		}
	}
	return nil
}
