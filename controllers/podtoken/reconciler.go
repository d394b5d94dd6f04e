package podtoken

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/act"
	engdecide "github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// reconciler gives the pods of one connection their tokens.
type reconciler struct {
	engine.Connection
	kind     *Kind
	pods     *asked
	requests *throttle.Allowance[types.UID]
}

// Need implements observe.Tokens.
func (r *reconciler) Need(ctx context.Context, pod *corev1.Pod, at engdecide.Destination) (engdecide.Need, error) {
	key := client.ObjectKeyFromObject(pod)
	need := engdecide.Need{Kind: name, NamespacedName: key}
	before := r.pods.change(key, pod.UID, func(w *waiting) { w.in = at.Namespace })
	held := &corev1.Secret{}
	err := r.Remote.Get(ctx, types.NamespacedName{Namespace: at.Namespace, Name: field.TokenSecretName(pod.UID)}, held)
	if client.IgnoreNotFound(err) != nil {
		return need, err
	}
	expires, _ := timesOf(held, r.kind.Clock.Now())
	need.Ready = err == nil && r.isOurs(held) && isOf(held, pod) && held.DeletionTimestamp.IsZero() && r.kind.Clock.Now().Before(expires)
	need.Problem = before.problem
	if before.problem.Reason == "" {
		need.Problem = field.Problem{Reason: v1alpha1.ReasonReferenceNotSynced, Message: "the pod's API tokens are being created"}
	}
	if !need.Ready && (before.in != at.Namespace || before.problem.Reason == "") {
		r.Enqueue(keyOf(key)) // After a failure, it is enqueued for the next attempt already.
	}
	return need, nil
}

// Reconcile decides about the tokens of one pod, and acts.
func (r *reconciler) Reconcile(ctx context.Context, of engdecide.Key) (ctrl.Result, error) {
	key := of.NamespacedName
	if r.Paused() {
		return ctrl.Result{}, nil // All are enqueued when the pause ends.
	}
	s, err := r.observe(ctx, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := decide(s)
	for _, held := range p.Delete {
		if err := r.remove(ctx, held); err != nil {
			return retry.Done(err)
		}
	}
	var live types.UID
	if s.Pod != nil && !ended(s.Pod) {
		live = s.Pod.UID
	}
	r.requests.Forget(r.pods.forget(key, live))
	if !p.Issue {
		return ctrl.Result{RequeueAfter: p.Again}, nil
	}
	return r.issueAndReport(ctx, s, p)
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
		s.Pod, s.Granted, s.Asked = pod, token.Granted(pod, r.API()), r.pods.of(key, pod.UID).in
		if s.Runs, err = r.runs(ctx, pod); err != nil {
			return s, err
		}
		for _, namespace := range []string{s.Runs, s.Asked} {
			if namespace != "" {
				names = append(names, types.NamespacedName{Namespace: namespace, Name: field.TokenSecretName(pod.UID)})
			}
		}
	}
	var indexed corev1.SecretList
	if err := r.Provider.GetCache().List(ctx, &indexed, objects.TokensOf(&key), client.UnsafeDisableDeepCopy); err != nil {
		return s, fmt.Errorf("listing the tokens of pod %s in provider %s: %w", key, r.Mark.ClusterID, err)
	}
	for i := range indexed.Items {
		names = append(names, client.ObjectKeyFromObject(&indexed.Items[i]))
	}
	seen := map[types.NamespacedName]bool{}
	for _, name := range names {
		held := &corev1.Secret{}
		err := r.Remote.Get(ctx, name, held)
		if client.IgnoreNotFound(err) != nil {
			return s, err
		}
		if err == nil && !seen[name] && r.isOurs(held) {
			s.Held = append(s.Held, held)
		}
		seen[name] = true
	}
	return s, nil
}

// runs returns the namespace in the provider with the remote pod that mounts the tokens, or "".
func (r *reconciler) runs(ctx context.Context, pod *corev1.Pod) (string, error) {
	var remotes corev1.PodList
	of := client.MatchingFields{objects.FieldLocal: client.ObjectKeyFromObject(pod).String()}
	if err := r.Provider.GetCache().List(ctx, &remotes, of, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing what pod %s/%s runs as in provider %s: %w", pod.Namespace, pod.Name, r.Mark.ClusterID, err)
	}
	for i := range remotes.Items {
		remote := &remotes.Items[i]
		if r.Mark.IsOn(remote) && provenance.LocalOf(remote).UID == pod.UID && token.Uses(&remote.Spec, pod.UID) {
			return remote.Namespace, nil
		}
	}
	return "", nil
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
	if wait := r.requests.Wait(uid); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if readable, err := r.watched(ctx, key); !readable {
		return ctrl.Result{}, err
	}
	r.requests.Wrote(uid)
	again, problem := r.issue(ctx, s, p)
	if problem == nil {
		r.pods.change(key, uid, func(w *waiting) { w.problem, w.failures = field.Problem{}, 0 })
		r.Enqueue(podKeyOf(key))
		return ctrl.Result{RequeueAfter: again}, nil
	}
	before := r.pods.change(key, uid, func(w *waiting) { w.problem, w.failures = *problem, w.failures+1 })
	if before.problem != *problem && s.Runs == "" {
		r.Enqueue(podKeyOf(key)) // It reports the problem.
	}
	r.warn(s, p, *problem)
	return ctrl.Result{RequeueAfter: after(before.failures)}, nil
}

// warn tells the owner of a running pod, once, that its tokens end soon.
func (r *reconciler) warn(s snapshot, p plan, problem field.Problem) {
	if p.Before == nil || s.Runs == "" || !isLate(p.Before, s.Now) {
		return
	}
	expires := p.Before.Annotations[v1alpha1.AnnotationTokenExpires]
	before := r.pods.change(client.ObjectKeyFromObject(s.Pod), s.Pod.UID, func(w *waiting) { w.told = expires })
	if before.told != expires {
		note := fmt.Sprintf("the API tokens of the pod in provider %s end at %s and could not be renewed: %s", r.Mark.ClusterID, expires, problem.Message)
		r.kind.Events.Eventf(s.Pod, nil, corev1.EventTypeWarning, v1alpha1.ReasonTokenNotRenewed, "Renew", "%s", conditions.Note(note))
	}
}

// Start implements engine.Runner.
func (r *reconciler) Start(ctx context.Context) error {
	err := informer.Watch(ctx, r.View, &corev1.Pod{}, func(e informer.Change) {
		before, _ := e.Before.(*corev1.Pod)
		after, _ := e.After.(*corev1.Pod)
		if before != nil && (after == nil || after.UID != before.UID || ended(after) && !ended(before)) && len(token.Mounted(before)) > 0 {
			r.Enqueue(keyOf(client.ObjectKeyFromObject(before)))
		}
	})
	if err != nil {
		return err
	}
	return informer.Watch(ctx, r.Provider.GetCache(), &corev1.Secret{}, func(e informer.Change) {
		if held, ok := e.Object().(*corev1.Secret); ok && r.isOurs(held) {
			r.Enqueue(keyOf(objects.LocalKey(held)))
		}
	})
}

// EnqueueNamespace implements engine.Runner.
func (r *reconciler) EnqueueNamespace(ctx context.Context, namespace string) {
	for _, key := range r.pods.in(namespace) {
		r.Enqueue(keyOf(key))
	}
	var held corev1.SecretList
	if err := r.Provider.GetCache().List(ctx, &held, objects.TokensOf(nil), client.UnsafeDisableDeepCopy); err != nil {
		return // The cache and the connection are ending.
	}
	for i := range held.Items {
		if key := objects.LocalKey(&held.Items[i]); namespace == "" || key.Namespace == namespace {
			r.Enqueue(keyOf(key))
		}
	}
}

func keyOf(pod types.NamespacedName) engdecide.Key {
	return engdecide.Key{Kind: name, NamespacedName: pod}
}

// podKeyOf returns the key of the pod itself.
func podKeyOf(pod types.NamespacedName) engdecide.Key {
	return engdecide.Key{Kind: "pod", NamespacedName: pod}
}
