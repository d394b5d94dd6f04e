package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/engine/act"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/engine/observe"
	"github.com/spillway-io/spillway/internal/engine/plan"
	"github.com/spillway-io/spillway/internal/engine/report"
	"github.com/spillway-io/spillway/internal/engine/waits"
	"github.com/spillway-io/spillway/internal/engine/watch"
	"github.com/spillway-io/spillway/internal/engine/work"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/retry"
)

// rounds is the most decisions that one reconcile makes. Each sees the result of the one before. If they need
// more than a few, a decision is wrong.
const rounds = 8

// errRounds says that each decision of a reconcile led to another one.
var errRounds = errors.New("the decisions do not come to an end")

// kindController reconciles the objects of one kind, in one connection.
type kindController[T client.Object] struct {
	*watch.Watcher[T]
	observer *observe.Observer[T]
	planner  *plan.Planner[T]
	actor    *act.Actor[T]
	reporter *report.Reporter[T]
	// paused reports whether the binding is paused, or the consumer does not serve the kind. whyUnreadable
	// returns why objects of the kind cannot be read in the provider.
	paused        func() bool
	whyUnreadable func() connection.Unreadable
	// waits gets the outcome of objects that others may need.
	waits *waits.Waits
}

// Reconcile implements Runner: it decides and acts until there is nothing left to do.
func (c *kindController[T]) Reconcile(ctx context.Context, of decide.Key) (ctrl.Result, error) {
	key := of.NamespacedName
	if lack := c.whyUnreadable(); lack.Reason != "" || c.paused() {
		return ctrl.Result{}, c.reportUnreadable(ctx, key, lack) // All objects are enqueued when this changes.
	}
	refusals := 0
	var made []decide.AppliedAction // By the earlier rounds.
	for range rounds {
		snapshot, next, err := c.decide(ctx, key, made)
		if err != nil {
			return ctrl.Result{}, err
		}
		if len(next.Actions) == 0 {
			return c.report(ctx, snapshot, next)
		}
		if watched, err := c.watched(ctx, of); !watched {
			return ctrl.Result{}, err // The object is enqueued when the caches show its kind.
		}
		if c.isNeeded() {
			c.waits.NoteWrite(of)
		}
		answers, done, err := c.actor.Do(ctx, snapshot, next)
		if err != nil {
			return retry.Done(err)
		}
		made = append(made, answers...)
		if done {
			c.reporter.Written(snapshot, next)
		} else if refusals++; refusals > 1 { // Even the report of the first refusal failed.
			return c.report(ctx, snapshot, decide.Plan{Problem: next.Problem, RetryAfter: attempts.FirstRetry})
		}
	}
	return ctrl.Result{}, fmt.Errorf("%s: %w", of, errRounds)
}

// decide observes an object, plans, and remembers what the plan refuses.
func (c *kindController[T]) decide(ctx context.Context, key types.NamespacedName, made []decide.AppliedAction) (decide.ObjectState[T], decide.Plan, error) {
	record := c.Attempts.Get(key)
	snapshot, err := c.observer.Observe(ctx, key, record, made)
	if err != nil {
		return snapshot, decide.Plan{}, err
	}
	next := c.planner.Plan(snapshot, record, made)
	for _, refused := range next.Refused {
		c.reporter.Refused(snapshot, refused)
	}
	if next.Dropped != nil {
		c.Attempts.Change(key, func(r *attempts.Record) { r.DroppedStatus = next.Dropped })
	}
	return snapshot, next.Plan, nil
}

// watched reports whether the caches show the objects of the kind. It is called before a write. If the caches
// do not show the kind, they start to watch it, and the object is enqueued once they do.
func (c *kindController[T]) watched(ctx context.Context, of decide.Key) (bool, error) {
	then := func() { c.Queue.Enqueue(work.Normal, of) }
	type who struct { // The views outlive the connection and its queue.
		queue any
		of    decide.Key
	}
	here, err1 := c.Locals.Need(ctx, who{c.Queue, of}, then)
	there, err2 := c.Remotes.Need(ctx, who{c.Queue, of}, then)
	return here && there, errors.Join(err1, err2)
}

// report reports the outcome to dependants, and returns when to reconcile again.
func (c *kindController[T]) report(ctx context.Context, s decide.ObjectState[T], plan decide.Plan) (ctrl.Result, error) {
	again := plan.RetryAfter
	outcome := attempts.Reconciled{Problem: plan.Problem, Observed: s.Now, IsPending: again > 0, Withdrawn: s.Withdrawn()}
	if decide.Present(s.Local) {
		outcome.Version = attempts.Version(s.Local)
	}
	c.Attempts.Reconciled(s.Key, outcome)
	if s.NotFound() {
		c.Attempts.Forget(s.Key)
		c.waits.Forget(c.key(s.Key))
	}
	if c.observer.IsStale(s) {
		again = retry.Sooner(again, ownwrites.Lifetime) // After that, the cache counts, whatever it shows.
	}
	again = retry.Sooner(retry.Sooner(again, plan.RecheckAfter), c.reporter.Problem(s, plan))
	if c.isNeeded() {
		if err := c.waits.Reconciled(ctx, c.key(s.Key), plan.Problem); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// key names an object of the kind.
func (c *kindController[T]) key(name types.NamespacedName) decide.Key {
	return decide.Key{Kind: c.Kind.Name, NamespacedName: name}
}

// isNeeded reports whether other objects may need those of the kind.
func (c *kindController[T]) isNeeded() bool {
	return c.Kind.Selection == kind.Referenced || c.Kind.Precedes != nil
}

// reportUnreadable creates an event on an object that would be sent because of its namespace. The event says what
// the provider lacks. Dependants need not wait for an object that should not be sent, so reportUnreadable informs
// them, too.
func (c *kindController[T]) reportUnreadable(ctx context.Context, key types.NamespacedName, lack connection.Unreadable) error {
	if c.reporter.Reported == nil || c.Kind.Selection.Protects() || c.paused() {
		return nil
	}
	s, err := c.observer.Observe(ctx, key, c.Attempts.Get(key), nil)
	if err != nil {
		return err
	}
	c.reporter.Problem(s, decide.ReportUnreadable(s, c.Kind.Syncer, c.Kind.Title(), lack))
	if !c.isNeeded() {
		return nil
	}
	return c.waits.EnqueueDependants(ctx, c.key(key))
}

// need implements needed.
func (c *kindController[T]) need(ctx context.Context, who decide.Key, ref decide.Ref, in string) (decide.Need, error) {
	return c.waits.Ask(who, ref.Key, func() (decide.Need, bool, error) { return c.assess(ctx, ref, in) })
}

// assess decides whether an object is ready in a namespace of the provider, and whether the object exists at
// all. It enqueues the object if there is something to do: its last reconcile may not have known that the
// object is needed there. A refused action has its own time for the retry.
func (c *kindController[T]) assess(ctx context.Context, ref decide.Ref, in string) (need decide.Need, there bool, err error) {
	record := c.Attempts.Get(ref.NamespacedName)
	s, err := c.observer.Observe(ctx, ref.NamespacedName, record, nil)
	if err != nil {
		return need, false, err
	}
	assess := decide.Assess[T]
	if c.Kind.Precedes != nil {
		assess = decide.AssessPreceding[T]
	}
	need, plan := assess(s, c.Kind.Syncer, ref, c.Kind.Title(), in, c.whyUnreadable())
	due := func(a decide.Action) bool {
		wait, _ := record.Writes.Wait(a, s.Now) // So has an action that somebody reverts again and again.
		return wait == 0
	}
	if slices.ContainsFunc(plan.Actions, due) && !record.Refusals.Any() {
		c.Queue.Enqueue(work.Normal, c.key(s.Key))
	}
	return need, decide.Present(s.Local) || c.Kind.Precedes != nil && !s.NotFound(), nil
}

// Unsent implements runner.
func (c *kindController[T]) Unsent(ctx context.Context, namespace string) ([]decide.Key, error) {
	if c.Kind.Selection != kind.OnVirtualNode {
		return nil, nil
	}
	held, err := c.Locals.InView(ctx, namespace)
	var unsent []decide.Key
	for _, pod := range held {
		if remote := provenance.RemoteOf(pod); remote.UID == "" || remote.For != pod.GetUID() {
			unsent = append(unsent, c.key(client.ObjectKeyFromObject(pod)))
		}
	}
	return unsent, err
}

// before implements preceding.
func (c *kindController[T]) before(ctx context.Context, pod *corev1.Pod) ([]decide.Ref, error) {
	held, err := c.Locals.InView(ctx, pod.Namespace)
	if err != nil {
		return nil, err
	}
	copies, err := c.Remotes.Of(ctx, pod.Namespace)
	keys := sets.Set[types.NamespacedName]{}
	for _, local := range held {
		if c.Kind.Precedes(local, pod) {
			keys.Insert(client.ObjectKeyFromObject(local))
		}
	}
	for _, remote := range copies { // Of an earlier state, or of an object that no longer exists in the consumer.
		if c.Kind.Precedes(remote, pod) {
			keys.Insert(objects.LocalKey(remote))
		}
	}
	var refs []decide.Ref
	for _, key := range slices.SortedFunc(maps.Keys(keys), func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) }) {
		refs = append(refs, decide.Ref{Key: c.key(key)})
	}
	return refs, err
}

// anyRefused implements needed.
func (c *kindController[T]) anyRefused() bool { return c.reporter.AnyRefused() }

// outdated implements needed.
func (c *kindController[T]) outdated(key types.NamespacedName, in string) *field.Problem {
	return c.reporter.Outdated(key, in)
}
