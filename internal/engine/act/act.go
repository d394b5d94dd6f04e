// Package act carries out plans. It sends one request per action, with the UID of the object that was read. It
// remembers what an API server refuses, for the next decision.
package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/retry"
)

// requestTimeout bounds one request, including the client library's retries. The transport gives up a write sooner, and
// then says whether the provider holds it up, or is away.
const requestTimeout = 15 * time.Second

// Actor sends the requests of one kind in one connection.
type Actor[T client.Object] struct {
	Kind      *kind.Kind[T]
	ClusterID string
	Locals    *objects.Locals[T]
	Remotes   *objects.Remotes[T]
	Attempts  *attempts.Attempts
	// Refused gets each refused request, and remembers it.
	Refused func(decide.ObjectState[T], decide.Refused)
	// Consumer and Provider write. Live reads from the consumer without a cache.
	Consumer, Provider client.Client
	Live               client.Reader
	// Sent gets the provider's answer to each create or change.
	Sent func(client.Object)
	// Fenced returns an error if another manager may work in the provider. Optional.
	Fenced func() error
	Clock  clock.PassiveClock
}

// Do carries out the actions of a plan in order, and stops at the first that fails. It returns the answers, and
// whether all actions are done. It remembers a refusal, which is no error.
func (c *Actor[T]) Do(ctx context.Context, s decide.ObjectState[T], plan decide.Plan) (made []decide.AppliedAction, done bool, err error) {
	for _, a := range plan.Actions {
		ended, err := c.begin(a)
		if err != nil {
			return made, false, c.failed(ctx, s, a, err)
		}
		if !c.mayGo(s, a) {
			ended(errNotSent)
			return made, false, nil
		}
		if c.Kind.Paced && a.Side == decide.Remote {
			now := c.Clock.Now() // A refused request costs the provider as much.
			c.Attempts.Change(s.Key, func(r *attempts.Record) { r.CopiesUsed = attempts.Copies.Wrote(r.CopiesUsed, now) })
		}
		answer, err := c.do(ctx, s, a)
		ended(err)
		c.noteAnswer(s, a, err)
		if err != nil {
			return made, false, c.failed(ctx, s, a, err)
		}
		if answer != nil {
			made = append(made, decide.AppliedAction{Action: a, Response: answer})
		}
		c.succeeded(s, a)
	}
	return made, true, nil
}

func (c *Actor[T]) succeeded(s decide.ObjectState[T], a decide.Action) {
	c.Attempts.Succeeded(s.Key, a.Verb, c.Kind.CopyNamespaceOf(a))
	c.noteSent(s, a)
	now, seen := c.Clock.Now(), time.Time{}
	if a.Verb == decide.Patch || c.Kind.Selection.Copies() && a.Verb != decide.Find && a.Verb != decide.Read {
		c.Attempts.Change(s.Key, func(r *attempts.Record) { r.Writes.Add(a, now) })
	}
	if a.Verb == decide.PatchStatus {
		c.Attempts.Change(s.Key, func(r *attempts.Record) {
			r.StatusesUsed = attempts.Statuses.Wrote(r.StatusesUsed, now)
			seen, r.RemoteChangedAt = r.RemoteChangedAt, time.Time{}
		})
	}
	if c.Kind.Done != nil {
		c.Kind.Done(s, a, seen)
	}
}

// ofTrials is which part of the workers of a kind may wait for writes that are held up.
const ofTrials = 4

var errNotSent = errors.New("not sent")

// begin returns an error for a write to a namespace of the provider in which too many are held up. Otherwise ended must be
// called with the error of the action.
func (c *Actor[T]) begin(a decide.Action) (ended func(error), _ error) {
	if a.Side != decide.Remote || a.Verb != decide.Create && a.Verb != decide.Patch && a.Verb != decide.Delete {
		return func(error) {}, nil
	}
	end, err := c.Attempts.HeldUp.Begin(a.Verb, a.Object.GetNamespace(), max(1, c.Kind.Workers/ofTrials))
	if err != nil {
		return nil, err
	}
	began := c.Clock.Now()
	return func(err error) { end(err, c.Clock.Since(began)) }, nil
}

// noteAnswer remembers a creation that got no answer: the API server may have carried it out.
func (c *Actor[T]) noteAnswer(s decide.ObjectState[T], a decide.Action, err error) {
	if a.Verb != decide.Create || a.Side != decide.Remote || !decide.Present(s.Local) {
		return
	}
	var status apierrors.APIStatus
	if err != nil && (!errors.As(err, &status) || apierrors.IsTimeout(err)) {
		c.Attempts.Change(s.Key, func(r *attempts.Record) { r.Unanswered = s.Local.GetUID() })
	} else if err == nil {
		c.Attempts.Change(s.Key, func(r *attempts.Record) { r.Unanswered = "" })
	}
}

// expecter notes what was written to a cluster, until the cache shows it.
type expecter interface {
	Expect(obj client.Object)
	ExpectDeletion(obj client.Object, grace *int64)
}

// do sends one request, and notes the object in the answer. It returns that object, or nil.
func (c *Actor[T]) do(ctx context.Context, s decide.ObjectState[T], a decide.Action) (answer client.Object, err error) {
	to, side := c.Consumer, expecter(c.Locals)
	if a.Side == decide.Remote {
		to, side = c.Provider, c.Remotes
	}
	obj, ok := a.Object.DeepCopyObject().(client.Object) // The cache may share the object, and the answer changes it.
	if !ok {
		return nil, fmt.Errorf("%T is no object", a.Object)
	}
	switch a.Verb { //nolint:exhaustive // All others are sent.
	case decide.Find:
		return nil, c.find(ctx, s, obj)
	case decide.Read:
		return c.read(ctx, obj)
	}
	if err := errors.Join(c.mayEnd(a), confirm(ctx, c.Live, c.Consumer, a)); err != nil {
		return nil, err
	}
	if err := Send(ctx, to, obj, a); err != nil {
		return nil, err
	}
	if a.Verb == decide.Delete {
		side.ExpectDeletion(obj, a.Grace)
		return nil, nil
	}
	if a.Side == decide.Remote {
		c.Sent(obj)
	}
	side.Expect(obj)
	return obj, nil
}

// mayEnd refuses an action that ends a local object while another manager may have sent the object. The
// provider's cache may not show that copy yet, and the copy would run beside its successor. Other decisions
// from an old cache need no such check: later decisions correct them, and the transport holds back writes to
// the provider.
func (c *Actor[T]) mayEnd(a decide.Action) error {
	if !a.AllowsSuccessor || c.Fenced == nil {
		return nil
	}
	return c.Fenced()
}

// Send sends the request of an action that writes. obj is the action's object, and receives the answer.
func Send(ctx context.Context, to client.Client, obj client.Object, a decide.Action) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	switch a.Verb { //nolint:exhaustive // All others write nothing.
	case decide.Create:
		return to.Create(ctx, obj)
	case decide.Patch, decide.PatchStatus:
		return patch(ctx, to, obj, a)
	case decide.Delete:
		return remove(ctx, to, obj, a)
	default:
		return fmt.Errorf("to %s an object is no write", a.Verb)
	}
}

// remove deletes the object that was read, but no other object of its name.
func remove(ctx context.Context, to client.Client, obj client.Object, a decide.Action) error {
	uid := a.Object.GetUID()
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: a.Grace}
	if a.Locked {
		version := a.Object.GetResourceVersion()
		options.Preconditions.ResourceVersion = &version
	}
	return retry.IgnoreGone(to.Delete(ctx, obj, options))
}

// mayGo reports whether an action may run. While the provider ends too many pods of a namespace soon after they
// were sent, it lets one pod at a time be created.
func (c *Actor[T]) mayGo(s decide.ObjectState[T], a decide.Action) bool {
	return c.Kind.Ended == nil || a.Verb != decide.Create || a.Side != decide.Remote || c.Attempts.Sent.Allow(s.Key.Namespace)
}

// noteSent notes what was sent, and what the provider has ended since. Only objects of the same local namespace
// wait for it.
func (c *Actor[T]) noteSent(s decide.ObjectState[T], a decide.Action) {
	if c.Kind.Ended == nil || !decide.Present(s.Local) {
		return
	}
	switch {
	case a.Verb == decide.Create && a.Side == decide.Remote:
		c.Attempts.Sent.Note(s.Key, s.Local.GetUID())
	case (a.Verb == decide.PatchStatus || a.Verb == decide.Delete) && a.Side == decide.Local && c.Kind.Ended(s.Local, a):
		c.Attempts.Sent.Ended(s.Key, s.Local.GetUID())
	}
}
