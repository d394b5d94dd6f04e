package podtoken

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/act"
	engdecide "github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/retry"
)

// reconciler gives the pods of one connection their tokens.
type reconciler struct {
	engine.Connection
	kind   *Kind
	issuer issuer
	pods   *asked
	ledger *ledger
}

// Need implements observe.Tokens.
func (r *reconciler) Need(ctx context.Context, pod *corev1.Pod, at engdecide.Destination) (engdecide.Need, error) {
	key := client.ObjectKeyFromObject(pod)
	need := engdecide.Need{Kind: name, NamespacedName: key}
	if why := unreadable(r.Provider); why.Reason != "" {
		need.Problem = why
		return need, nil
	}
	held := &corev1.Secret{}
	err := r.Remote.Get(ctx, types.NamespacedName{Namespace: at.Namespace, Name: field.TokenSecretName(pod.UID)}, held)
	if client.IgnoreNotFound(err) != nil {
		return need, err
	}
	now := r.kind.Clock.Now()
	_, renews := r.ledger.of(pod.UID).timesOf(held, now)
	need.Ready = err == nil && r.isOurs(held) && isOf(held, pod) && held.DeletionTimestamp.IsZero() && now.Before(renews)
	if need.Ready {
		return need, nil
	}
	before := r.pods.change(key, pod.UID, func(w *waiting) { w.in = at.Namespace })
	need.Problem = before.problem
	if before.problem.Reason == "" {
		need.Problem = field.Problem{Reason: v1alpha1.ReasonReferenceNotSynced, Message: "the pod's API tokens are being created"}
	}
	if before.in != at.Namespace || before.problem.Reason == "" {
		r.Enqueue(keyOf(key)) // After a failure, it is enqueued for the next attempt already.
	}
	return need, nil
}

// unreadable says why the provider's Secrets cannot be read. Then the cache has none, which means nothing.
func unreadable(provider *fleet.Provider) field.Problem {
	why := provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.Secret{}))
	if why.Reason == "" {
		return field.Problem{}
	}
	return field.Problemf(why.Reason, "the provider %s", why.What)
}

// Reconcile decides about the tokens of one pod, and acts.
func (r *reconciler) Reconcile(ctx context.Context, of engdecide.Key) (ctrl.Result, error) {
	key := of.NamespacedName
	if unreadable(r.Provider).Reason != "" {
		return ctrl.Result{}, nil // All are enqueued when this ends.
	}
	s, err := r.observe(ctx, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := decide(s)
	if r.Paused() {
		return whilePaused(ctx, r, s, p)
	}
	var failed error // A Secret that cannot be deleted delays no tokens.
	for _, held := range p.Delete {
		failed = errors.Join(failed, r.remove(ctx, held))
	}
	var live types.UID
	if s.Pod != nil && !ended(s.Pod) {
		live = s.Pod.UID
	}
	if gone := r.pods.forget(key, live); gone != "" {
		r.ledger.forget(gone)
	}
	result := ctrl.Result{RequeueAfter: p.Again}
	if p.Issue {
		result, err = r.issueAndReport(ctx, s, p)
	}
	if err := errors.Join(failed, err); err != nil {
		return retry.Done(err)
	}
	return result, nil
}

// observe reads from caches what a decision depends on.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName) (snapshot, error) {
	s := snapshot{Now: r.kind.Clock.Now()}
	pod := &corev1.Pod{}
	err := r.View.Get(ctx, key, pod, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return s, fmt.Errorf("getting pod %s: %w", key, err)
	}
	var names []types.NamespacedName
	if err == nil {
		s.Pod, s.Granted, s.Asked, s.Issued = pod, token.Granted(pod, r.API()), r.pods.of(key, pod.UID).in, r.ledger.of(pod.UID)
	}
	if err := r.locate(ctx, key, &s); err != nil {
		return s, err
	}
	if s.Pod != nil {
		for _, namespace := range s.Places {
			names = append(names, types.NamespacedName{Namespace: namespace, Name: field.TokenSecretName(pod.UID)})
		}
	}
	var indexed corev1.SecretList
	if err := r.Provider.GetCache().List(ctx, &indexed, objects.TokensOf(&key), client.UnsafeDisableDeepCopy); err != nil {
		return s, fmt.Errorf("listing the tokens of pod %s in provider %s: %w", key, r.Mark.ClusterID, err)
	}
	for i := range indexed.Items {
		names = append(names, client.ObjectKeyFromObject(&indexed.Items[i]))
	}
	s.Held, err = r.held(ctx, names)
	return s, err
}

// held reads the Secrets of these names that have tokens.
func (r *reconciler) held(ctx context.Context, names []types.NamespacedName) ([]*corev1.Secret, error) {
	var all []*corev1.Secret
	seen := map[types.NamespacedName]bool{}
	for _, name := range names {
		held := &corev1.Secret{}
		err := r.Remote.Get(ctx, name, held)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil && !seen[name] && r.isOurs(held) {
			all = append(all, held)
		}
		seen[name] = true
	}
	return all, nil
}

// locate finds out where a pod may be in the provider, and where it is. Only the mapping of its namespace says
// where to look: anybody in the provider can create a pod with the same marks elsewhere.
func (r *reconciler) locate(ctx context.Context, key types.NamespacedName, s *snapshot) error {
	for _, at := range r.Destinations(key.Namespace) {
		if at.Namespace == "" {
			s.Unknown = s.Unknown || !at.Leaving
			continue
		}
		s.Places = append(s.Places, at.Namespace)
		if s.Pod == nil {
			continue
		}
		remote := &corev1.Pod{}
		err := r.Remote.Get(ctx, kind.Namespaced{}.RemoteName(at.Target, key), remote)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return err
		case err == nil && r.Mark.IsOn(remote) && isRemoteOf(remote, s.Pod):
			s.Runs = at.Namespace
		}
	}
	return nil
}

// isOurs reports whether a Secret of a provider has tokens, and was created by Spillway for this consumer.
func (r *reconciler) isOurs(held *corev1.Secret) bool {
	return field.IsTokenSecret(held) && r.Mark.IsOn(held)
}

// remove deletes a Secret.
func (r *reconciler) remove(ctx context.Context, held *corev1.Secret) error {
	if readable, err := r.watched(ctx, objects.LocalKey(held)); !readable {
		return err
	}
	a := engdecide.Action{Verb: engdecide.Delete, Side: engdecide.Remote, Object: held}
	if err := act.Send(ctx, r.Provider.GetClient(), held.DeepCopy(), a); err != nil {
		return fmt.Errorf("deleting Secret %s/%s of provider %s: %w", held.Namespace, held.Name, r.Mark.ClusterID, err)
	}
	if len(held.Finalizers) == 0 {
		r.Remote.ExpectDeleted(held)
	}
	return nil
}

// watched reports whether the cache shows Secrets of the provider. If not, it starts to watch them, and the pod is
// enqueued once it does.
func (r *reconciler) watched(ctx context.Context, key types.NamespacedName) (bool, error) {
	type who struct {
		of  any
		key types.NamespacedName
	}
	return informer.Need(ctx, r.Provider.GetCache(), &corev1.Secret{}, who{r, key}, func() { r.Enqueue(keyOf(key)) })
}

// issueAndReport creates or renews tokens. If that fails, the pod says why: in its condition as long as it is
// not in the provider, and then by an event before its tokens end.
func (r *reconciler) issueAndReport(ctx context.Context, s snapshot, p plan) (ctrl.Result, error) {
	key, uid := client.ObjectKeyFromObject(s.Pod), s.Pod.UID
	if wait := r.pods.of(key, uid).notBefore.Sub(s.Now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if readable, err := r.watched(ctx, key); !readable {
		return ctrl.Result{}, err
	}
	if err := r.Provider.Fenced(); err != nil {
		return ctrl.Result{}, fmt.Errorf("writing the tokens of pod %s: %w", key, err) // It is enqueued when the Lease is renewed.
	}
	if !s.Issued.unwritten(s.Now) {
		if wait := r.ledger.wait(uid); wait > 0 {
			before := r.pods.change(key, uid, func(w *waiting) { w.problem = lost(p, r.Mark.ClusterID) })
			if before.problem.Reason == "" && s.Runs == "" {
				r.Enqueue(podKeyOf(key)) // It reports the problem.
			}
			r.warn(s, p, later(lost(p, r.Mark.ClusterID), s.Now.Add(wait)))
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	again, problem := r.issue(ctx, s, p)
	if problem == nil {
		r.pods.change(key, uid, func(w *waiting) { *w = waiting{uid: uid, told: w.told} })
		r.Enqueue(podKeyOf(key))
		// A Secret that is deleted before the cache has shown it causes no event.
		return ctrl.Result{RequeueAfter: min(again, ownwrites.Lifetime)}, nil
	}
	var wait time.Duration
	before := r.pods.change(key, uid, func(w *waiting) {
		wait = after(w.failures)
		w.problem, w.failures, w.notBefore = *problem, w.failures+1, s.Now.Add(wait)
	})
	if before.problem != *problem && s.Runs == "" {
		r.Enqueue(podKeyOf(key)) // It reports the problem.
	}
	r.warn(s, p, *problem)
	return ctrl.Result{RequeueAfter: wait}, nil
}

// warn tells the owner of a running pod, once, that its tokens are gone or end soon, and why nothing helps.
func (r *reconciler) warn(s snapshot, p plan, problem field.Problem) (again time.Duration) {
	what, again := warningOf(s, p, r.Mark.ClusterID)
	if what.about == "" {
		return again
	}
	before := r.pods.change(client.ObjectKeyFromObject(s.Pod), s.Pod.UID, func(w *waiting) { w.told = what.about })
	if before.told != what.about {
		r.kind.Events.Eventf(s.Pod, nil, corev1.EventTypeWarning, v1alpha1.ReasonTokenNotRenewed, "Renew", "%s", conditions.Note(what.says+problem.Message))
	}
	return 0
}

// whilePaused writes nothing about tokens. The owners of pods learn which tokens end meanwhile. All are enqueued when
// the pause ends.
func whilePaused(ctx context.Context, r *reconciler, s snapshot, p plan) (ctrl.Result, error) {
	if !p.Issue || s.Runs == "" {
		return ctrl.Result{RequeueAfter: p.Again}, nil
	}
	if readable, err := r.watched(ctx, client.ObjectKeyFromObject(s.Pod)); !readable { // A Secret that is not read counts as gone.
		return ctrl.Result{}, err
	}
	again := r.warn(s, p, field.Problemf(v1alpha1.ReasonPaused, "the ClusterBinding is paused"))
	return ctrl.Result{RequeueAfter: again}, nil
}
