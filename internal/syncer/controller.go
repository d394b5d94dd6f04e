package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/seeded"
	"github.com/spillway-io/spillway/internal/syncer/act"
	"github.com/spillway-io/spillway/internal/syncer/memory"
	"github.com/spillway-io/spillway/internal/syncer/objects"
	"github.com/spillway-io/spillway/internal/syncer/observe"
	"github.com/spillway-io/spillway/internal/syncer/plan"
	"github.com/spillway-io/spillway/internal/syncer/refusal"
	"github.com/spillway-io/spillway/internal/syncer/watch"
)

// rounds is how many decisions one pass makes at most. Each sees what the one before
// has done; more than a few of them is a mistake in a decision.
const rounds = 8

// errRounds ends a pass that would not end.
var errRounds = errors.New("the decisions do not come to an end")

// kindController brings the objects of one kind forward, in one connection. Its queue
// and its workers are its own, so that a provider that does not answer holds
// nobody else's.
type kindController[T client.Object] struct {
	queue
	kind     *kind.Kind[T]
	binding  string
	watcher  *watch.Watcher[T]
	observer *observe.Observer[T]
	planner  *plan.Planner[T]
	actor    *act.Actor[T]
	refusals *refusal.Refusals[T]
	memory   *memory.Memory
	events   events.EventRecorder
	// paused reports whether the binding says that nothing is to be done, and lacking
	// says which right the provider does not give us on the kind, or "".
	paused  func() bool
	lacking func() string
	// notify has a pass made over all that needs an object.
	notify func(ctx context.Context, ref decide.Ref) error
}

// Start implements Runner.
func (c *kindController[T]) Start(ctx context.Context) error {
	unmanaged, err := controller.NewTypedUnmanaged(c.kind.Name, controller.TypedOptions[reconcile.Request]{
		Reconciler:              c,
		MaxConcurrentReconciles: c.kind.Workers,
		SkipNameValidation:      ptr.To(true), // There is one of each name for each binding.
		UsePriorityQueue:        ptr.To(true),
		RateLimiter:             retry.Backoff[reconcile.Request](),
		LogConstructor:          c.logger(log.FromContext(ctx)),
	})
	if err != nil {
		return fmt.Errorf("making the %s controller of ClusterBinding %s: %w", c.kind.Name, c.binding, err)
	}
	if err := unmanaged.Watch(c.source(c.watcher.Start)); err != nil {
		return fmt.Errorf("watching for the %s controller of ClusterBinding %s: %w", c.kind.Name, c.binding, err)
	}
	connection.Go(ctx, fmt.Sprintf("the %s controller has ended", c.kind.Name), unmanaged.Start)
	return nil
}

// logger makes the loggers of the controller. That it starts and ends is said of
// each kind and connection, and only to those who want to know more than usual.
func (c *kindController[T]) logger(base logr.Logger) func(*reconcile.Request) logr.Logger {
	base = base.WithValues("controller", c.kind.Name)
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return base.V(1)
		}
		return base.WithValues("namespace", request.Namespace, "name", request.Name)
	}
}

// Reconcile brings one local object forward, until there is nothing left to do.
func (c *kindController[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if right := c.lacking(); right != "" || c.paused() {
		return ctrl.Result{}, c.tellLacking(ctx, req.NamespacedName, right) // When it is not any more, all are asked for.
	}
	refusals := 0
	var made []decide.Attempt // By the rounds before.
	for range rounds {
		snapshot, err := c.observer.Observe(ctx, req.NamespacedName, made)
		if err != nil {
			return ctrl.Result{}, err
		}
		next := c.planner.Plan(snapshot, made)
		if len(next.Actions) == 0 {
			return c.report(ctx, snapshot, next)
		}
		if c.isNeeded() {
			c.memory.Pending.Set(req.NamespacedName, true)
		}
		answers, done, err := c.actor.Do(ctx, snapshot, next)
		if err != nil && seeded.On(seeded.RetryLost) {
			return ctrl.Result{}, nil
		}
		if err != nil {
			return retry.Done(err)
		}
		made = append(made, answers...)
		if done {
			c.tellWritten(snapshot, next.Event)
		} else if refusals++; refusals > 1 { // Not even reporting the first one is possible.
			return c.report(ctx, snapshot, decide.Plan{Problem: next.Problem, RetryAfter: memory.FirstRetry})
		}
	}
	return ctrl.Result{}, fmt.Errorf("%s %s: %w", c.kind.Name, req.NamespacedName, errRounds)
}

// report notifies what needs the object of what has become of it, and says when to
// look again. A pass that was broken off has not notified it: a request may still have
// taken effect whose answer was lost.
func (c *kindController[T]) report(ctx context.Context, s decide.Snapshot[T], plan decide.Plan) (ctrl.Result, error) {
	c.memory.Waiting.Note(s.Key, plan.Problem)
	again := plan.RetryAfter
	if again == 0 {
		c.memory.Unshown.Shown(s.Key, s.Now)
	}
	if !decide.Present(s.Local) && !decide.Present(s.Remote) {
		c.memory.Forget(s.Key)
	}
	if c.observer.Ahead(s) {
		again = retry.Sooner(again, ownwrites.Lifetime) // Should the cache never show it, it is believed then.
	}
	c.tell(s, plan)
	if !c.isNeeded() {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	if c.memory.Problems.Change(s.Key, plan.Problem) {
		c.memory.Pending.Set(s.Key, true)
	}
	if c.memory.Pending.Get(s.Key) {
		c.memory.Pending.Drop(s.Key) // Before, because whoever looks meanwhile asks for another one.
		if err := c.notify(ctx, decide.Ref{Kind: c.kind.Name, NamespacedName: s.Key}); err != nil {
			c.memory.Pending.Set(s.Key, true)
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// isNeeded reports whether other objects may need those of the kind.
func (c *kindController[T]) isNeeded() bool {
	return c.kind.Selection == kind.Referenced || c.kind.Precedes != nil
}

// tell makes an event of the problem of a plan that has nothing to do, if its owner is to
// be told of it and has not been told yet.
func (c *kindController[T]) tell(s decide.Snapshot[T], plan decide.Plan) {
	switch told := c.refusals.Told; {
	case told == nil:
	case !decide.Present(s.Local) || !s.Wanted: // Teams may make and delete as many as they want.
		told.Forget(s.Key)
	case told.Problems.Change(s.Key, plan.Problem) && plan.TellsProblem:
		c.record(s, plan.Problem)
	}
}

// tellWritten makes the event of a plan whose actions are done. What the owner of an object
// has been told of its copy is not repeated each time that changes.
func (c *kindController[T]) tellWritten(s decide.Snapshot[T], event *decide.Problem) {
	if told := c.refusals.Told; told == nil || told.Notices.Change(s.Key, event) {
		c.record(s, event)
	}
}

// tellLacking tells the owner of an object that would be sent because of its namespace which
// right the provider does not give. What waits for the object need not any more, if it is
// not to be sent.
func (c *kindController[T]) tellLacking(ctx context.Context, key types.NamespacedName, right string) error {
	if c.refusals.Told == nil || c.paused() {
		return nil
	}
	s, err := c.observer.Observe(ctx, key, nil)
	if err != nil {
		return err
	}
	c.tell(s, decide.Lacking(s, c.kind.Syncer, c.kind.Title(), right))
	if !c.isNeeded() {
		return nil
	}
	return c.notify(ctx, decide.Ref{Kind: c.kind.Name, NamespacedName: key})
}

// record makes an event, if there is one to be made.
func (c *kindController[T]) record(s decide.Snapshot[T], event *decide.Problem) {
	if event != nil && decide.Present(s.Local) {
		c.events.Eventf(s.Local, nil, corev1.EventTypeWarning, event.Reason, "Offload", "%s", conditions.Note(event.Message))
	}
}

// need implements needed. Callers that find an object unready are notified when it is
// ready. The object's own passes may never have seen it so: the caches that it is read
// from are not equally new. So the notification counts as pending, and the object is
// looked at once more: what changes after that comes with a pass, and that notifies.
func (c *kindController[T]) need(ctx context.Context, ref decide.Ref, in string) (decide.Need, error) {
	need, there, err := c.assess(ctx, ref, in)
	if err != nil || need.Ready || !there {
		return need, err // What is not there is notified of when it comes.
	}
	c.memory.Pending.Set(ref.NamespacedName, true)
	need, _, err = c.assess(ctx, ref, in)
	return need, err
}

// assess reports whether an object that is needed in a namespace of the provider is
// there, as the decision about it says, and whether there is such an object at all. A
// pass over it is asked for if anything is to be done: it may not know yet that it is
// needed there. What was refused has a time of its own.
func (c *kindController[T]) assess(ctx context.Context, ref decide.Ref, in string) (need decide.Need, there bool, err error) {
	s, err := c.observer.Observe(ctx, ref.NamespacedName, nil)
	if err != nil {
		return need, false, err
	}
	assess := decide.Assess[T]
	if c.kind.Precedes != nil {
		assess = decide.AssessPreceding[T]
	}
	need, plan := assess(s, c.kind.Syncer, ref, c.kind.Title(), in, c.lacking())
	due := func(a decide.Action) bool {
		wait, _ := c.memory.Undone.Wait(s.Key, a) // What is undone again and again waits in its own passes.
		return wait == 0
	}
	if slices.ContainsFunc(plan.Actions, due) && !c.memory.Refusals.Has(s.Key) {
		c.Enqueue(s.Key)
	}
	return need, decide.Present(s.Local) || c.kind.Precedes != nil && decide.Present(s.Remote), nil
}

// EnqueueNamespace implements Runner.
func (c *kindController[T]) EnqueueNamespace(ctx context.Context, namespace string) {
	c.watcher.EnqueueNamespace(ctx, namespace)
}

// EnqueuePeers implements runner.
func (c *kindController[T]) EnqueuePeers(ctx context.Context) { c.watcher.EnqueuePeers(ctx) }

// EnqueuePods implements runner.
func (c *kindController[T]) EnqueuePods(ctx context.Context, namespace string) error {
	if c.kind.Selection != kind.OnVirtualNode {
		return nil
	}
	held, err := c.observer.Locals.Held(ctx, namespace)
	for _, pod := range held {
		if remote := provenance.RemoteOf(pod); remote.UID == "" || remote.For != pod.GetUID() {
			c.Enqueue(client.ObjectKeyFromObject(pod)) // The others are there already.
		}
	}
	return err
}

// before implements preceding.
func (c *kindController[T]) before(ctx context.Context, pod *corev1.Pod) ([]decide.Ref, error) {
	held, err := c.observer.Locals.Held(ctx, pod.Namespace)
	if err != nil {
		return nil, err
	}
	copies, err := c.observer.Remotes.Of(ctx, pod.Namespace)
	keys := sets.Set[types.NamespacedName]{}
	for _, local := range held {
		if c.kind.Precedes(local, pod) {
			keys.Insert(client.ObjectKeyFromObject(local))
		}
	}
	for _, remote := range copies { // It may be of an earlier state, or of what is gone here.
		if c.kind.Precedes(remote, pod) {
			keys.Insert(objects.LocalKey(remote))
		}
	}
	var refs []decide.Ref
	for _, key := range slices.SortedFunc(maps.Keys(keys), func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) }) {
		refs = append(refs, decide.Ref{Kind: c.kind.Name, NamespacedName: key})
	}
	return refs, err
}

// anyRefused implements needed.
func (c *kindController[T]) anyRefused() bool { return c.refusals.Any() }

// outdated implements needed.
func (c *kindController[T]) outdated(key types.NamespacedName, in string) *decide.Problem {
	return c.refusals.Outdated(key, in)
}
