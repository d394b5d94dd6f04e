package syncer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/seeded"
	"github.com/spillway-io/spillway/internal/syncer/memory"
)

const (
	// rounds is how many decisions one pass makes at most. Each sees what the
	// one before has done; more than a few of them is a mistake in a decision.
	rounds = 8
)

// errRounds ends a pass that would not end.
var errRounds = errors.New("the decisions do not come to an end")

// kindController brings the objects of one kind forward, in one pair. Its queue
// and its workers are its own, so that a provider that does not answer holds
// nobody else's.
type kindController[T client.Object] struct {
	kind.Kind[T]
	*pair
	memory   *memory.Memory
	resource string

	mu       sync.Mutex
	queue    priorityqueue.PriorityQueue[reconcile.Request] // nil before start.
	problems map[types.NamespacedName]decide.Problem
}

func (k registration[T]) attach(p *pair) attached {
	return &kindController[T]{Kind: k.Kind, pair: p, memory: memory.New(p.clock), resource: fleet.ResourceOf(k.New()), problems: map[types.NamespacedName]decide.Problem{}}
}

// start runs the controller until ctx ends.
func (c *kindController[T]) start(ctx context.Context) error {
	unmanaged, err := controller.NewTypedUnmanaged(c.Name, controller.TypedOptions[reconcile.Request]{
		Reconciler:              c,
		MaxConcurrentReconciles: c.Workers,
		SkipNameValidation:      ptr.To(true), // There is one of each name for each binding.
		UsePriorityQueue:        ptr.To(true),
		RateLimiter:             retry.Backoff[reconcile.Request](),
		LogConstructor:          c.logger(log.FromContext(ctx)),
	})
	if err != nil {
		return fmt.Errorf("making the %s controller of ClusterBinding %s: %w", c.Name, c.binding, err)
	}
	err = unmanaged.Watch(source.TypedFunc[reconcile.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		prioritized, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
		if !ok {
			return fmt.Errorf("%T has no priorities", queue)
		}
		c.mu.Lock()
		c.queue = prioritized
		c.mu.Unlock()
		return c.watch(ctx)
	}))
	if err != nil {
		return fmt.Errorf("watching for the %s controller of ClusterBinding %s: %w", c.Name, c.binding, err)
	}
	go func() {
		if err := unmanaged.Start(ctx); err != nil {
			connection.End(ctx, fmt.Errorf("the %s controller has ended: %w", c.Name, err))
		}
	}()
	return nil
}

// logger makes the loggers of the controller. That it starts and ends is said of
// each kind and connection, and only to those who want to know more than usual.
func (c *kindController[T]) logger(base logr.Logger) func(*reconcile.Request) logr.Logger {
	base = base.WithValues("controller", c.Name)
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return base.V(1)
		}
		return base.WithValues("namespace", request.Namespace, "name", request.Name)
	}
}

// urgent is the priority of what goes before the rest.
const urgent = 1

func (c *kindController[T]) enqueue(keys ...types.NamespacedName) { c.enqueueWith(0, keys...) }

// enqueueWith has a pass made over objects, before those of a lower priority.
func (c *kindController[T]) enqueueWith(priority int, keys ...types.NamespacedName) {
	c.mu.Lock()
	queue := c.queue
	c.mu.Unlock()
	if queue == nil {
		return // It begins with a pass over all there is.
	}
	for _, key := range keys {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, reconcile.Request{NamespacedName: key})
	}
}

// Reconcile brings one local object forward, until there is nothing left to do.
func (c *kindController[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if c.paused() || c.lacking() != "" {
		return ctrl.Result{}, nil // When it is not any more, all are asked for.
	}
	refusals := 0
	var made []decide.Attempt // By the rounds before.
	for range rounds {
		snapshot, err := c.observe(ctx, req.NamespacedName, made)
		if err != nil {
			return ctrl.Result{}, err
		}
		plan := decide.WithContent(snapshot, c.effective(snapshot, made))
		if len(plan.Actions) == 0 {
			return c.report(ctx, snapshot, plan)
		}
		if c.Copied {
			c.memory.Untold.Set(req.NamespacedName, true)
		}
		answers, done, err := c.act(ctx, snapshot, plan)
		if err != nil && seeded.On(seeded.RetryLost) {
			return ctrl.Result{}, nil
		}
		if err != nil {
			return retry.Done(err)
		}
		made = append(made, answers...)
		if done {
			c.announce(snapshot, plan)
		} else if refusals++; refusals > 1 { // Not even reporting the first one is possible.
			return c.report(ctx, snapshot, decide.Plan{Problem: plan.Problem, RetryAfter: memory.FirstRetry})
		}
	}
	return ctrl.Result{}, fmt.Errorf("%s %s: %w", c.Name, req.NamespacedName, errRounds)
}

// report tells what needs the object what has become of it, and says when to
// look again. A pass that was broken off has not told what it did: a request may
// have been carried out whose answer was lost.
func (c *kindController[T]) report(ctx context.Context, s decide.Snapshot[T], plan decide.Plan) (ctrl.Result, error) {
	c.memory.Waiting.Note(s.Key, plan.Problem)
	again := plan.RetryAfter
	if again == 0 {
		c.memory.Unshown.Shown(s.Key, s.Now)
	}
	if !decide.Present(s.Local) && !decide.Present(s.Remote) {
		c.memory.Forget(s.Key)
	}
	if c.ahead(s) {
		again = retry.Sooner(again, ownwrites.Lifetime) // Should the cache never show it, it is believed then.
	}
	if !c.Copied {
		return ctrl.Result{RequeueAfter: again}, nil // Nothing needs it.
	}
	if c.changedProblem(s.Key, plan.Problem) {
		c.memory.Untold.Set(s.Key, true)
	}
	if c.memory.Untold.Get(s.Key) {
		if err := c.tell(ctx, decide.Ref{Kind: c.Name, NamespacedName: s.Key}); err != nil {
			return ctrl.Result{}, err
		}
		c.memory.Untold.Drop(s.Key)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// ahead reports whether something was written about an object that the caches do not
// show yet.
func (c *kindController[T]) ahead(s decide.Snapshot[T]) bool {
	at := func(place decide.Place) bool { return c.remote.Ahead(c.New(), c.RemoteName(place.Target, s.Key)) }
	return c.local.Ahead(c.New(), s.Key) || at(s.Place) ||
		slices.ContainsFunc(s.Sites, func(site decide.Site[T]) bool { return at(site.Place) })
}

// changedProblem reports whether an object has another problem than after the
// last pass, and remembers it.
func (c *kindController[T]) changedProblem(key types.NamespacedName, problem *decide.Problem) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, had := c.problems[key]
	if problem == nil {
		delete(c.problems, key)
		return had
	}
	c.problems[key] = *problem
	return !had || before != *problem
}

// announce makes the event of a plan whose actions are done.
func (c *kindController[T]) announce(s decide.Snapshot[T], plan decide.Plan) {
	if plan.Event != nil && decide.Present(s.Local) {
		c.events.Eventf(s.Local, nil, corev1.EventTypeWarning, plan.Event.Reason, "Offload", "%s", conditions.Note(plan.Event.Message))
	}
}

// lacking says which verbs the provider does not let us use on the kind, or "".
func (c *kindController[T]) lacking() string { return c.rights.Lacks(c.resource) }

// title is how messages call the kind.
func (c *kindController[T]) title() string { return reflect.TypeFor[T]().Elem().Name() }

// need implements attached. Who finds that an object is not ready is to be told
// when it is. The object's own passes may never have seen it so: the caches that
// it is read from are not equally new. So it counts as untold, and is looked at
// once more: what changes after that comes with a pass, and that tells.
func (c *kindController[T]) need(ctx context.Context, ref decide.Ref, in string) (decide.Need, error) {
	need, there, err := c.assess(ctx, ref, in)
	if err != nil || need.Ready || !there {
		return need, err // What is not there is told of when it comes.
	}
	c.memory.Untold.Set(ref.NamespacedName, true)
	need, _, err = c.assess(ctx, ref, in)
	return need, err
}

// assess reports whether an object that is needed in a namespace of the provider is
// there, as the decision about it tells, and whether there is such an object here. A
// pass over it is asked for if anything is to be done: it may not know yet that it is
// needed there. What was refused has a time of its own.
func (c *kindController[T]) assess(ctx context.Context, ref decide.Ref, in string) (need decide.Need, there bool, err error) {
	s, err := c.observe(ctx, ref.NamespacedName, nil)
	if err != nil {
		return need, false, err
	}
	right := c.lacking()
	if right != "" {
		right += " " + c.resource
	}
	need, plan := decide.Assess(s, c.Syncer, ref, c.title(), in, right)
	if len(plan.Actions) > 0 && !c.memory.Refusals.Has(s.Key) {
		c.enqueue(s.Key)
	}
	return need, decide.Present(s.Local), nil
}
