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

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings/status,verbs=patch

const (
	// firstMountRetry and mostMountRetry pace the retries of a refused mount namespace. The first waits for
	// firstMountRetry, each later one for twice as long, up to mostMountRetry. There is one mount namespace per
	// provider, so the retries may be faster than for entries.
	firstMountRetry = 5 * time.Second
	mostMountRetry  = 30 * time.Second
)

// mount reconciles the mount namespace of one provider, and reports on it in the binding's condition
// MountNamespaceReady. Nothing else writes that condition.
func (a *executor) mount(ctx context.Context) (ctrl.Result, error) {
	name := a.binding.Spec.MountNamespace
	if name == "" || !a.binding.DeletionTimestamp.IsZero() && !drain.ReachedNamespaces(a.binding) {
		return ctrl.Result{}, nil
	}
	if a.bindings.IsStale(a.binding) {
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	snapshot, err := a.observeMount(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := mountnamespace.Decide(snapshot)
	if len(plan.Creates) > 0 && !mountnamespace.MayExist(a.binding) {
		// It is reported before it is done, so that a deletion that begins now waits for it.
		if err := a.reportMount(ctx, *mountnamespace.Pending()); err != nil {
			return retry.Done(err)
		}
	}
	tryAgain, err := a.act(ctx, snapshot.BackingOff, &plan)
	if err != nil {
		return ctrl.Result{}, err
	}
	if known, ok := plan.Known[""]; ok {
		a.noteMount(snapshot, known.Outcome)
		if err := a.reportMount(ctx, mountnamespace.Ready(known.Outcome)); err != nil {
			return retry.Done(err)
		}
	}
	if a.seen.IsStale(&corev1.Namespace{}, client.ObjectKey{Name: name}) {
		tryAgain = retry.Sooner(tryAgain, ownwrites.Lifetime)
	}
	_, again := a.outcomes.backingOff(a.binding.Name, sets.New(name))
	return ctrl.Result{RequeueAfter: retry.Sooner(tryAgain, again)}, nil
}

// observeMount reads the namespace from the provider itself, unless the cache shows it as Spillway's. The cache
// lacks other people's namespaces, and one of them may have the name.
func (a *executor) observeMount(ctx context.Context) (mountnamespace.Snapshot, error) {
	name := client.ObjectKey{Name: a.binding.Spec.MountNamespace}
	s := mountnamespace.Snapshot{Binding: a.binding, Mark: a.mark, ManagerNamespace: a.Settings.ManagerNamespace}
	s.BackingOff, _ = a.outcomes.backingOff(a.binding.Name, sets.New(name.Name))
	remote := &corev1.Namespace{}
	err := a.seen.Get(ctx, name, remote)
	if client.IgnoreNotFound(err) != nil {
		return s, err
	}
	if err == nil && mountnamespace.IsMountNamespace(s.Mark, remote) {
		s.Remote = remote
		return s, nil
	}
	if len(s.BackingOff) > 0 && a.binding.DeletionTimestamp.IsZero() {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	remote = &corev1.Namespace{}
	err = a.provider.GetAPIReader().Get(ctx, name, remote)
	if retry.IsGone(err) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("getting namespace %s of provider %s: %w", name.Name, a.binding.Spec.ClusterID, err)
	}
	s.Remote = remote
	if mountnamespace.IsMountNamespace(s.Mark, remote) {
		a.seen.Expect(remote) // An earlier manager created it, and the watch has not shown it yet.
	}
	return s, nil
}

// noteMount remembers an outcome that is not the answer to a write.
func (a *executor) noteMount(s mountnamespace.Snapshot, outcome namespacemap.Outcome) {
	switch {
	case outcome.Phase == v1alpha1.MappingAccepted:
		a.outcomes.clear(s.Binding.Name, s.Binding.Spec.MountNamespace)
	case outcome.Reason == v1alpha1.ReasonNameConflict && s.Remote != nil: // It was just read.
		a.outcomes.refused(s.Binding.Name, s.Binding.Spec.MountNamespace, outcome)
	}
}

// reportMount writes the condition if it differs.
func (a *executor) reportMount(ctx context.Context, ready metav1.Condition) error {
	before := a.binding.DeepCopy()
	conditions.Set(&a.binding.Status.Conditions, a.binding.Generation, ready)
	if equality.Semantic.DeepEqual(before.Status, a.binding.Status) {
		return nil
	}
	if err := a.Client.Status().Patch(ctx, a.binding, precondition.Locked(before)); err != nil {
		return fmt.Errorf("writing the condition %s of ClusterBinding %s: %w", ready.Type, a.binding.Name, err)
	}
	a.bindings.Expect(a.binding)
	return nil
}
