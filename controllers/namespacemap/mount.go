package namespacemap

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings/status,verbs=patch

const (
	// A refused mount namespace is retried after firstMountRetry, then after twice as long
	// each time, up to mostMountRetry. There is one per provider, so that may be sooner
	// than for entries.
	firstMountRetry = 5 * time.Second
	mostMountRetry  = 30 * time.Second
)

// mount reconciles the mount namespace of one provider, and reports on it in the
// binding's condition MountNamespaceReady, which nothing else writes.
func (r *Reconciler) mount(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding) (ctrl.Result, error) {
	name := binding.Spec.MountNamespace
	if name == "" || !binding.DeletionTimestamp.IsZero() && !drain.Empties(binding) {
		return ctrl.Result{}, nil
	}
	if r.bindings.Behind(binding) {
		return ctrl.Result{RequeueAfter: ownwrites.BehindRetry}, nil
	}
	snapshot, err := r.observeMount(ctx, provider, binding)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := mountnamespace.Decide(snapshot)
	if len(plan.Creates) > 0 && !mountnamespace.MayExist(binding) {
		// Reported before it is done, so that a deletion that begins now waits for it.
		if err := r.reportMount(ctx, binding, *mountnamespace.Pending()); err != nil {
			return retry.Done(err)
		}
	}
	a := r.acting(provider, binding, r.mounts)
	tryAgain, err := a.act(ctx, snapshot.BackingOff, &plan)
	if err != nil {
		return ctrl.Result{}, err
	}
	if known, ok := plan.Known[""]; ok {
		r.noteMount(snapshot, known.Outcome)
		if err := r.reportMount(ctx, binding, mountnamespace.Ready(known.Outcome)); err != nil {
			return retry.Done(err)
		}
	}
	if a.seen.Ahead(&corev1.Namespace{}, client.ObjectKey{Name: name}) {
		tryAgain = retry.Sooner(tryAgain, ownwrites.Lifetime)
	}
	_, again := r.mounts.backingOff(binding.Name, sets.New(name))
	return ctrl.Result{RequeueAfter: retry.Sooner(tryAgain, again)}, nil
}

// observeMount reads the namespace from the provider itself unless the cache shows ours:
// the cache lacks other people's namespaces, one of which may have the name.
func (r *Reconciler) observeMount(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding) (mountnamespace.Snapshot, error) {
	name := client.ObjectKey{Name: binding.Spec.MountNamespace}
	s := mountnamespace.Snapshot{
		Binding: binding, Mark: provenance.Mark{Origin: r.Origin, ClusterID: binding.Spec.ClusterID}, ManagerNamespace: r.Settings.ManagerNamespace,
	}
	s.BackingOff, _ = r.mounts.backingOff(binding.Name, sets.New(name.Name))
	seen, remote := fleet.Seen(provider), &corev1.Namespace{}
	err := seen.Get(ctx, name, remote)
	if client.IgnoreNotFound(err) != nil {
		return s, err
	}
	if err == nil && mountnamespace.Ours(s.Mark, remote) {
		s.Remote = remote
		return s, nil
	}
	if len(s.BackingOff) > 0 && binding.DeletionTimestamp.IsZero() {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	remote = &corev1.Namespace{}
	err = provider.GetAPIReader().Get(ctx, name, remote)
	if retry.IsGone(err) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("getting namespace %s of provider %s: %w", name.Name, binding.Spec.ClusterID, err)
	}
	s.Remote = remote
	if mountnamespace.Ours(s.Mark, remote) {
		seen.Wrote(remote) // An earlier manager created it, and the watch has not shown it yet.
	}
	return s, nil
}

// noteMount remembers an outcome that is not the answer to a write.
func (r *Reconciler) noteMount(s mountnamespace.Snapshot, outcome namespacemap.Outcome) {
	switch {
	case outcome.Phase == v1alpha1.MappingAccepted:
		r.mounts.clear(s.Binding.Name, s.Binding.Spec.MountNamespace)
	case outcome.Reason == v1alpha1.ReasonNameConflict && s.Remote != nil: // Seen just now.
		r.mounts.refused(s.Binding.Name, s.Binding.Spec.MountNamespace, outcome)
	}
}

// reportMount writes the condition if it differs.
func (r *Reconciler) reportMount(ctx context.Context, binding *v1alpha1.ClusterBinding, ready metav1.Condition) error {
	before := binding.DeepCopy()
	conditions.Set(&binding.Status.Conditions, binding.Generation, ready)
	if equality.Semantic.DeepEqual(before.Status, binding.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, binding, precondition.Locked(before)); err != nil {
		return fmt.Errorf("writing the condition %s of ClusterBinding %s: %w", ready.Type, binding.Name, err)
	}
	r.bindings.Wrote(binding)
	return nil
}
