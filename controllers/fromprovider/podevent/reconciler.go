package podevent

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/act"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

const (
	// interval and most are the first and the longest time between two writes of one
	// event.
	interval = 10 * time.Second
	most     = 5 * time.Minute
	// fewCreated warnings of a provider are made at once, then one each createInterval, and as many
	// normal events: the consumer keeps each for an hour, and the cache of shown ones as well.
	fewCreated     = 2000
	createInterval = 2 * time.Second
	// patience is how long the object that a warning is about may be missing. Its watch
	// hardly ever lags that far behind.
	patience = 30 * time.Second
	// firstFailure and mostFailure are how long an object waits after a failed write.
	firstFailure = time.Second
	mostFailure  = 5 * time.Minute
)

// reconciler shows the events of one provider.
type reconciler struct {
	engine.Connection
	// changed is sent to when the binding may ask for other events.
	changed chan struct{}
	// kinds are those that warnings may be about, by their names in the API.
	kinds    map[string]*eventKind
	consumer client.Client
	// shown are the consumer's events; remote is the provider's cache, without events.
	shown  cache.Cache
	remote cache.Cache
	events corev1client.EventInterface
	local  *ownwrites.Reader
	clock  clock.PassiveClock
	buffer *podevent.Buffer
	// early has the warnings about objects of namespaces that are not known to be ours:
	// another watch reports the namespaces, and may lag.
	early   *podevent.Buffer
	memory  *memory
	created *throttle.Allowance[string]
}

// Reconcile shows what the provider reports about one object. The key does not name its kind,
// and nobody but a hostile provider gives two objects the same UID.
func (c *reconciler) Reconcile(ctx context.Context, key decide.Key) (ctrl.Result, error) {
	var result ctrl.Result
	var failed []error
	for of := range c.kinds {
		again, err := c.show(ctx, podevent.Target{Kind: of, NamespacedName: key.NamespacedName, UID: key.UID})
		result.RequeueAfter = retry.Sooner(result.RequeueAfter, again)
		failed = append(failed, err)
	}
	return result, errors.Join(failed...)
}

// show shows what is kept of an object, and returns when to look again.
func (c *reconciler) show(ctx context.Context, target podevent.Target) (time.Duration, error) {
	reported, since := c.buffer.Of(target)
	if c.Paused() || len(reported) == 0 {
		return 0, nil
	}
	local, err := c.localOf(ctx, target)
	if err != nil {
		return 0, err
	}
	if local == nil {
		if wait := patience - c.clock.Since(since); wait > 0 {
			return wait, nil
		}
		c.buffer.Drop(target)
		return 0, nil
	}
	snapshot, err := c.observe(ctx, *local, reported)
	if err != nil {
		return 0, err
	}
	plan := podevent.Decide(snapshot)
	again, err := c.act(ctx, local.UID, plan)
	return retry.Sooner(plan.RetryAfter, again), err
}

// observe gathers what is already shown on an object, only from caches.
func (c *reconciler) observe(ctx context.Context, local corev1.ObjectReference, reported []podevent.Occurrence) (podevent.Snapshot, error) {
	s := podevent.Snapshot{
		Now: c.clock.Now(), ClockSkew: c.Provider.ClockSkew(), ClusterID: c.Mark.ClusterID, Node: c.View.Node, Local: local, Reported: reported,
		Shown: map[string]*corev1.Event{}, Waits: map[string]time.Duration{},
	}
	var shown corev1.EventList
	err := c.shown.List(ctx, &shown, client.InNamespace(local.Namespace), client.MatchingFields{fieldShown: shownOn(local.UID, c.Mark.ClusterID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return s, fmt.Errorf("listing the events about %s %s/%s: %w", local.Kind, local.Namespace, local.Name, err)
	}
	written := c.memory.of(local.UID)
	for i := range shown.Items {
		s.Shown[shown.Items[i].Name] = &shown.Items[i]
		delete(written.created, shown.Items[i].Name)
	}
	for _, occurrence := range reported {
		name := s.Name(occurrence)
		if err := c.restoreEvent(ctx, s, name); err != nil {
			return s, err
		}
		s.Waits[name] = c.wait(written, name, s.Shown[name] == nil, occurrence.Normal)
	}
	for name := range written.created {
		if err := c.restoreEvent(ctx, s, name); err != nil {
			return s, err
		}
		if s.Shown[name] == nil {
			delete(written.created, name)
		}
	}
	return s, nil
}

// wait is how long an event must not be written yet.
func (c *reconciler) wait(written *written, name string, isNew, normal bool) time.Duration {
	if isNew {
		return max(written.Wait(name), c.created.Wait(allowance(c.Mark.ClusterID, normal)))
	}
	return written.Wait(name)
}

// allowance is the key of the events made for a provider. Normal events have their own, so that warnings do not
// wait for them. No clusterID has a slash.
func allowance(clusterID string, normal bool) string {
	if normal {
		return clusterID + "/" + corev1.EventTypeNormal
	}
	return clusterID
}

// restoreEvent replaces a shown event by its last written state.
func (c *reconciler) restoreEvent(ctx context.Context, s podevent.Snapshot, name string) error {
	event := &corev1.Event{}
	switch err := c.local.Get(ctx, types.NamespacedName{Namespace: s.Local.Namespace, Name: name}, event); {
	case err == nil:
		s.Shown[name] = event
	case apierrors.IsNotFound(err):
		delete(s.Shown, name)
	default:
		return err
	}
	return nil
}

// act writes what was decided, and returns when to check again if it found something
// else than the cache had shown.
func (c *reconciler) act(ctx context.Context, local types.UID, plan podevent.Plan) (time.Duration, error) {
	var again time.Duration
	var failed []error
	written := c.memory.of(local)
	wrote := func(event *corev1.Event, err error) {
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return // Nobody will ask any more.
		case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.IsConflict(err):
			written.Wrote(event.Name)
			again = retry.Sooner(again, written.Wait(event.Name))
		case err != nil:
			failed = append(failed, fmt.Errorf("writing event %s: %w", client.ObjectKeyFromObject(event), err))
		default:
			written.Wrote(event.Name)
			c.local.Expect(event)
			// The watch may have been faster: then nobody else would drop it.
			_ = c.local.Get(ctx, client.ObjectKeyFromObject(event), &corev1.Event{})
		}
	}
	for _, event := range plan.Create {
		written.created[event.Name] = true
		c.created.Wrote(allowance(c.Mark.ClusterID, event.Type == corev1.EventTypeNormal))
		wrote(event, act.Send(ctx, c.consumer, event, decide.Action{Verb: decide.Create}))
	}
	for _, update := range plan.Update {
		wrote(update.After, act.Send(ctx, c.consumer, update.After, decide.Action{Verb: decide.Patch, Before: update.Before}))
	}
	return again, errors.Join(failed...)
}

// trim keeps the fields of a consumer's event that comparisons need.
func trim(obj any) (any, error) {
	event, ok := obj.(*corev1.Event)
	if !ok {
		return obj, nil
	}
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: event.Namespace, Name: event.Name, UID: event.UID, ResourceVersion: event.ResourceVersion,
		},
		InvolvedObject:    corev1.ObjectReference{UID: event.InvolvedObject.UID},
		ReportingInstance: event.ReportingInstance,
		Reason:            event.Reason, Message: text.Clean(event.Message), Count: event.Count,
	}, nil
}
