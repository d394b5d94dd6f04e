package podevent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/views"
)

const (
	// interval and most are how far apart the writes of one event are, at first
	// and at most.
	interval = 10 * time.Second
	most     = 5 * time.Minute
	// patience is how long the pod that a warning is about may be missing. Its
	// watch is hardly ever that far behind.
	patience = 30 * time.Second
	// firstFailure and mostFailure are how long a pod waits after a write that failed.
	firstFailure = time.Second
	mostFailure  = 5 * time.Minute
	// requestTimeout bounds one request, with all that the client library tries by itself.
	requestTimeout = 10 * time.Second
)

// reconciler shows the warnings of one provider.
type reconciler struct {
	consumer client.Client
	// view and shown are the consumer's pods and events; remote is the provider's.
	view   *views.View
	shown  cache.Cache
	remote cache.Cache
	local  *ownwrites.Reader
	clock  clock.PassiveClock
	mark   provenance.Mark
	shelf  *podevent.Shelf
	// early is what is about pods of namespaces that are not known to be ours:
	// the namespaces are told of by another watch, which may be behind.
	early *podevent.Shelf
	// paused reports whether the binding says that nothing is to be done.
	paused atomic.Bool
	memory *memory
}

// Reconcile shows what is reported about one pod of the provider.
func (c *reconciler) Reconcile(ctx context.Context, target podevent.Target) (ctrl.Result, error) {
	reported, since := c.shelf.Of(target)
	if c.paused.Load() || len(reported) == 0 {
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

// remotePod is the pod of the provider if it is there and ours, or nil.
func (c *reconciler) remotePod(ctx context.Context, target podevent.Target) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := c.remote.Get(ctx, target.NamespacedName, pod); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if pod.UID != target.UID || !c.mark.IsOn(pod) {
		return nil, nil
	}
	return pod, nil
}

// localPod is the pod that a pod of the provider stands for, or nil.
func (c *reconciler) localPod(ctx context.Context, target podevent.Target) (*corev1.Pod, error) {
	remote, err := c.remotePod(ctx, target)
	if err != nil || remote == nil {
		return nil, err
	}
	of, local := provenance.LocalOf(remote), &corev1.Pod{}
	if err := c.view.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, local); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if local.UID != of.UID {
		return nil, nil
	}
	return local, nil
}

// observe gathers what is shown on a pod already, out of caches only.
func (c *reconciler) observe(ctx context.Context, pod *corev1.Pod, reported []podevent.Occurrence) (podevent.Snapshot, error) {
	s := podevent.Snapshot{
		Now: c.clock.Now(), ClusterID: c.mark.ClusterID, Node: c.view.Node, Local: pod, Reported: reported,
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

// putRight makes one of the events be shown as it was last written.
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

// act writes what is decided, and says when to look again if what was found is
// not what the cache had shown.
func (c *reconciler) act(ctx context.Context, pod types.UID, plan podevent.Plan) (time.Duration, error) {
	var again time.Duration
	var failed []error
	written := c.memory.of(pod)
	wrote := func(event *corev1.Event, err error) {
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return // Nobody is going to ask any more.
		case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.IsConflict(err):
			written.Wrote(event.Name)
			again = retry.Sooner(again, written.Wait(event.Name))
		case err != nil:
			failed = append(failed, fmt.Errorf("writing event %s: %w", client.ObjectKeyFromObject(event), err))
		default:
			written.Wrote(event.Name)
			c.local.Wrote(event)
			// The watch may have been faster: then nobody else would forget it.
			_ = c.local.Get(ctx, client.ObjectKeyFromObject(event), &corev1.Event{})
		}
	}
	for _, event := range plan.Create {
		written.created[event.Name] = true
		wrote(event, c.write(ctx, func(ctx context.Context) error { return c.consumer.Create(ctx, event) }))
	}
	for _, update := range plan.Update {
		wrote(update.After, c.write(ctx, func(ctx context.Context) error { return c.patch(ctx, update) }))
	}
	return again, errors.Join(failed...)
}

func (*reconciler) write(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return request(ctx)
}

// patch sends the difference, and the UID: another event of that name refuses it.
func (c *reconciler) patch(ctx context.Context, update podevent.Update) error {
	before := update.Before.DeepCopy()
	before.UID = ""
	return c.consumer.Patch(ctx, update.After, client.MergeFrom(before))
}

// trim keeps of an event of the consumer what it is compared by.
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
		Reason:         event.Reason, Message: event.Message, Count: event.Count,
	}, nil
}
