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
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/syncer"
	"github.com/spillway-io/spillway/internal/syncer/act"
)

const (
	// interval and most are the first and the longest time between two writes of one
	// event.
	interval = 10 * time.Second
	most     = 5 * time.Minute
	// patience is how long the pod that a warning is about may be missing. Its watch
	// hardly ever lags that far behind.
	patience = 30 * time.Second
	// firstFailure and mostFailure are how long a pod waits after a failed write.
	firstFailure = time.Second
	mostFailure  = 5 * time.Minute
)

// reconciler shows the warnings of one provider.
type reconciler struct {
	syncer.Connection
	consumer client.Client
	// shown are the consumer's events; remote is the provider's cache, without events.
	shown  cache.Cache
	remote cache.Cache
	events corev1client.EventInterface
	local  *ownwrites.Reader
	clock  clock.PassiveClock
	shelf  *podevent.Shelf
	// early has the warnings about pods of namespaces that are not known to be ours:
	// another watch reports the namespaces, and may lag.
	early  *podevent.Shelf
	memory *memory
}

// Reconcile shows what the provider reports about one pod.
func (c *reconciler) Reconcile(ctx context.Context, key decide.Key) (ctrl.Result, error) {
	target := podevent.Target{NamespacedName: key.NamespacedName, UID: key.UID}
	reported, since := c.shelf.Of(target)
	if c.Paused() || len(reported) == 0 {
		return ctrl.Result{}, nil
	}
	pod, err := c.localPod(ctx, target)
	if err != nil {
		return ctrl.Result{}, err
	}
	if pod == nil {
		if wait := patience - c.clock.Since(since); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		c.shelf.Drop(target)
		return ctrl.Result{}, nil
	}
	snapshot, err := c.observe(ctx, pod, reported)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := podevent.Decide(snapshot)
	again, err := c.act(ctx, pod.UID, plan)
	return ctrl.Result{RequeueAfter: retry.Sooner(plan.RetryAfter, again)}, err
}

// remotePod is the provider's pod if it exists and is ours, or nil.
func (c *reconciler) remotePod(ctx context.Context, target podevent.Target) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := c.remote.Get(ctx, target.NamespacedName, pod); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if pod.UID != target.UID || !c.Mark.IsOn(pod) {
		return nil, nil
	}
	return pod, nil
}

// localPod is the pod that a pod of the provider represents, or nil.
func (c *reconciler) localPod(ctx context.Context, target podevent.Target) (*corev1.Pod, error) {
	remote, err := c.remotePod(ctx, target)
	if err != nil || remote == nil {
		return nil, err
	}
	of, local := provenance.LocalOf(remote), &corev1.Pod{}
	if err := c.View.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, local); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if local.UID != of.UID {
		return nil, nil
	}
	return local, nil
}

// observe gathers what is already shown on a pod, only from caches.
func (c *reconciler) observe(ctx context.Context, pod *corev1.Pod, reported []podevent.Occurrence) (podevent.Snapshot, error) {
	s := podevent.Snapshot{
		Now: c.clock.Now(), ClusterID: c.Mark.ClusterID, Node: c.View.Node, Local: pod, Reported: reported,
		Shown: map[string]*corev1.Event{}, Waits: map[string]time.Duration{},
	}
	var shown corev1.EventList
	err := c.shown.List(ctx, &shown, client.InNamespace(pod.Namespace), client.MatchingFields{fieldPod: string(pod.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return s, fmt.Errorf("listing the events about pod %s: %w", client.ObjectKeyFromObject(pod), err)
	}
	written := c.memory.of(pod.UID)
	for i := range shown.Items {
		s.Shown[shown.Items[i].Name] = &shown.Items[i]
		delete(written.created, shown.Items[i].Name)
	}
	for _, occurrence := range reported {
		name := s.Name(occurrence)
		s.Waits[name] = written.Wait(name)
		if err := c.putRight(ctx, s, name); err != nil {
			return s, err
		}
	}
	for name := range written.created {
		if err := c.putRight(ctx, s, name); err != nil {
			return s, err
		}
		if s.Shown[name] == nil {
			delete(written.created, name)
		}
	}
	return s, nil
}

// putRight replaces a shown event by its last written state.
func (c *reconciler) putRight(ctx context.Context, s podevent.Snapshot, name string) error {
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
func (c *reconciler) act(ctx context.Context, pod types.UID, plan podevent.Plan) (time.Duration, error) {
	var again time.Duration
	var failed []error
	written := c.memory.of(pod)
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
			c.local.Wrote(event)
			// The watch may have been faster: then nobody else would drop it.
			_ = c.local.Get(ctx, client.ObjectKeyFromObject(event), &corev1.Event{})
		}
	}
	for _, event := range plan.Create {
		written.created[event.Name] = true
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
		InvolvedObject: corev1.ObjectReference{UID: event.InvolvedObject.UID},
		Reason:         event.Reason, Message: provenance.Clean(event.Message), Count: event.Count,
	}, nil
}
