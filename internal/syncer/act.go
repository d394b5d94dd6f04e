package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/seeded"
)

// requestTimeout bounds one request, with all that the client library tries by
// itself. An API server waits 10 seconds for a webhook, by default, and then says so.
const requestTimeout = 15 * time.Second

// act carries out the actions of a plan, in their order, up to the first that
// cannot be done, and reports whether that was all of them, and what was answered.
// What an API server refuses is remembered, and decided on in the next round; only
// what says nothing about the object is an error.
func (c *kindController[T]) act(ctx context.Context, s decide.Snapshot[T], plan decide.Plan) (made []decide.Attempt, done bool, err error) {
	for _, a := range plan.Actions {
		if !c.mayGo(s, a) {
			return made, false, nil
		}
		answer, err := c.do(ctx, s, a)
		c.noteAnswer(s, a, err)
		if err != nil {
			return made, false, c.failed(ctx, s, a, err)
		}
		if answer != nil {
			made = append(made, decide.Attempt{Action: a, Answer: answer})
		}
		c.memory.Succeeded(s.Key, a.Verb, c.namespaceOf(a))
		if a.Verb == decide.PatchStatus {
			c.memory.Statuses.Wrote(s.Key)
		}
		c.brake(s, a)
		if c.Done != nil {
			seen := time.Time{}
			if a.Verb == decide.PatchStatus {
				seen = c.memory.Unshown.Take(s.Key)
			}
			c.Done(s, a, seen)
		}
	}
	return made, true, nil
}

// noteAnswer remembers whether a creation may have been carried out that has failed.
func (c *kindController[T]) noteAnswer(s decide.Snapshot[T], a decide.Action, err error) {
	if a.Verb != decide.Create || a.Side != decide.Remote || !decide.Present(s.Local) {
		return
	}
	var status apierrors.APIStatus
	if err != nil && (!errors.As(err, &status) || apierrors.IsTimeout(err)) {
		c.memory.Unanswered.Set(s.Key, s.Local.GetUID())
	} else if err == nil {
		c.memory.Unanswered.Drop(s.Key)
	}
}

// do makes one request, and notes what it has made of the object. What the API
// server answers with is returned; nil, if that is no object.
func (c *kindController[T]) do(ctx context.Context, s decide.Snapshot[T], a decide.Action) (answer client.Object, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	to, reader := c.consumer, c.local
	if a.Side == decide.Remote {
		to, reader = c.provider.GetClient(), c.remote
	}
	obj, ok := a.Object.DeepCopyObject().(client.Object) // It may be shared with the cache, and takes the answer.
	if !ok {
		return nil, fmt.Errorf("%T is no object", a.Object)
	}
	switch a.Verb {
	case decide.Create:
		if err := to.Create(ctx, obj); err != nil {
			return nil, err
		}
	case decide.Patch, decide.PatchStatus:
		if err := patch(ctx, to, obj, a); err != nil {
			return nil, err
		}
	case decide.Delete:
		if err := c.delete(ctx, to, obj, a); err != nil {
			return nil, err
		}
		c.deleted(reader, a)
		return nil, nil
	case decide.Find:
		return nil, c.find(ctx, s, obj)
	case decide.Read:
		return c.read(ctx, obj)
	default:
		return nil, fmt.Errorf("unknown verb %q", a.Verb)
	}
	c.wrote(reader, obj, a)
	return obj, nil
}

// patch sends the difference between what was seen and what is to be. The UID
// goes with it: another object of that name refuses it. Lists that are merged by
// a key, such as the conditions of a pod, are merged by the API server.
func patch(ctx context.Context, to client.Client, obj client.Object, a decide.Action) error {
	before, ok := a.Before.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", a.Before)
	}
	before.SetUID("")
	obj.SetUID(a.Before.GetUID())
	var how client.Patch
	if a.Locked {
		how = locked(before)
	} else {
		how = client.StrategicMergeFrom(before)
	}
	switch {
	case a.Verb == decide.PatchStatus:
		return to.Status().Patch(ctx, obj, how)
	case a.Subresource != "":
		return to.SubResource(a.Subresource).Patch(ctx, obj, how)
	default:
		return to.Patch(ctx, obj, how)
	}
}

func (c *kindController[T]) delete(ctx context.Context, to client.Client, obj client.Object, a decide.Action) error {
	uid := a.Object.GetUID()
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, GracePeriodSeconds: a.Grace}
	if seeded.On(seeded.DeleteWithoutUID) {
		options.Preconditions = nil
	}
	return retry.IgnoreGone(to.Delete(ctx, obj, options))
}

// deleted notes that an object is going, or gone: one that nothing holds on to goes at once.
func (c *kindController[T]) deleted(reader *ownwrites.Reader, a decide.Action) {
	if a.Grace != nil && *a.Grace == 0 && len(a.Object.GetFinalizers()) == 0 {
		reader.Gone(a.Object)
		return
	}
	reader.Deleting(a.Object, a.Grace)
}

// wrote notes the answer of the API server. Of a local object whose mark has
// been taken off, the view shows nothing any more; the catalogue does.
func (c *kindController[T]) wrote(reader *ownwrites.Reader, obj client.Object, a decide.Action) {
	if a.Side == decide.Remote {
		fleet.Sent(c.provider, obj)
	}
	if a.Side == decide.Remote || !c.Copied {
		reader.Wrote(obj)
		return
	}
	if metadata, err := c.metadata(); err == nil {
		decide.CopyMetadata(metadata, obj)
		if !obj.GetDeletionTimestamp().IsZero() && len(obj.GetFinalizers()) == 0 { // Ours was the last.
			c.catalogue.Gone(metadata)
		} else {
			c.catalogue.Wrote(metadata)
		}
	}
	if decide.IsPinned(obj, c.clusterID) {
		reader.Wrote(obj)
	} else {
		reader.Drop(obj)
	}
}

// failed decides what an error means.
func (c *kindController[T]) failed(ctx context.Context, s decide.Snapshot[T], a decide.Action, err error) error {
	wrapped := fmt.Errorf("to %s %s %s in the %s (cluster %s): %w", a.Verb, c.Name, client.ObjectKeyFromObject(a.Object), a.Side, c.clusterID, err)
	switch {
	case retry.IsGone(err) && a.Verb != decide.Create:
		return wrapped // Decided anew once the watch has said so too: it alone is believed.
	case apierrors.IsAlreadyExists(err):
		existing, ok := a.Object.DeepCopyObject().(client.Object)
		if !ok {
			return wrapped
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return c.find(ctx, s, existing)
	case !decide.Present(s.Local), !retry.SaysWhy(err) && c.mayPass(s, a, err):
		return wrapped // Of what is left in the provider only, there is nobody to tell: it is in the log.
	}
	if retry.IsServerError(err) { // It is not for the object alone, and so is in the log, too.
		log.FromContext(ctx).Info("it is tried again later", "error", wrapped.Error())
	}
	c.refuse(s, a, problemOf(a, c.clusterID, err))
	return nil
}

// namespaceOf is the namespace of the provider that an action on a copy is about.
func (c *kindController[T]) namespaceOf(a decide.Action) string {
	if !c.Copied || a.Side == decide.Local {
		return ""
	}
	return a.Object.GetNamespace()
}

// mayPass reports whether an error that says nothing about a request may not come
// again. What meets one conflict after the other when it is created is refused: no
// version of it can be old, and it is an admission webhook that answers so. What
// meets one server error after the other is most often held up by a webhook that
// does not answer: its owner is told, and it is tried about as often as before.
func (c *kindController[T]) mayPass(s decide.Snapshot[T], a decide.Action, err error) bool {
	switch {
	case a.Verb == decide.Create && apierrors.IsConflict(err):
		return !c.memory.Overtaken.Note(s.Key, c.clock.Now())
	case retry.IsServerError(err) && a.Side == decide.Remote && (a.Verb == decide.Create || a.Verb == decide.Patch || a.Verb == decide.Delete):
		return !c.memory.Failing.Note(s.Key, c.clock.Now())
	default:
		return true
	}
}
