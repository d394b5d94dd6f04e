// Package namespacemap creates and deletes the remote namespaces of each provider. It creates those that its
// NamespaceMap asks for, and reports on them in the map's status. It also creates the mount namespace of the
// ClusterBinding, and reports on it in the condition MountNamespaceReady.
//
// A reconcile reads the caches, decides, creates and deletes a limited number of namespaces in parallel, and
// reports. There is one key per provider, and there are more workers than providers. So a provider that does
// not answer delays only itself.
package namespacemap

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/shard"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespacemaps;namespaceoffloadings,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespacemaps/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Reconciler reconciles NamespaceMaps and mount namespaces.
type Reconciler struct {
	Client client.Client
	Fleet  *fleet.Fleet
	// Origin is the identity of the consumer.
	Origin string
	// Live bypasses the caches. It reads what an offloading asks for just before a deletion.
	Live      client.Reader
	Inventory *inventory.Inventory
	// Owner says which bindings this replica works for.
	Owner    shard.Owner
	Settings namespaceoffloading.Settings
	Clock    clock.PassiveClock
	// Pace limits the writes of one map's status.
	Pace *throttle.Pacer

	// outcomes has the outcomes of entries, mounts those of mount namespaces.
	outcomes, mounts  *outcomes
	written, bindings ownwrites.Versions
	// emptied counts the remote namespaces whose last claim with data has gone.
	emptied atomic.Uint64
}

const (
	// firstRetry and mostRetry pace the retries of a refused entry. The first waits for firstRetry, each later
	// one for twice as long, up to mostRetry. Other people's namespaces are not watched, so this is also how
	// soon the manager notices that one is gone.
	firstRetry = 10 * time.Second
	mostRetry  = 2 * time.Minute

	// volumesRetry is how long a remote namespace with volumes waits for an event. It is asked again after that,
	// because the manager may not be allowed to watch the provider's claims.
	volumesRetry = 15 * time.Minute

	// whileConnecting is how often to check whether an unreachable provider still is unreachable. The check
	// sends no request.
	whileConnecting = 5 * time.Second
)

// Reconcile reconciles the remote namespaces of one provider.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	binding := &v1alpha1.ClusterBinding{}
	err := r.Client.Get(ctx, req.NamespacedName, binding)
	if err != nil || !r.Owner.Owns(binding.Name) {
		r.forget(req.Name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if binding.Spec.Paused {
		return ctrl.Result{}, nil
	}
	nsm, err := r.mapOf(ctx, binding)
	if err != nil {
		return ctrl.Result{}, err
	}
	provider, err := r.Fleet.Get(binding.Name)
	if errors.Is(err, multicluster.ErrClusterNotFound) {
		return r.reportUnreachable(ctx, nsm, binding)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	entries, entriesErr := r.entries(ctx, provider, binding, nsm)
	mount, mountErr := r.newExecutor(provider, binding, r.mounts).mount(ctx)
	if mountErr != nil && entriesErr == nil && entries.RequeueAfter > 0 {
		log.FromContext(ctx).Error(mountErr, "the mount namespace is tried again with the others")
		return ctrl.Result{RequeueAfter: retry.Sooner(entries.RequeueAfter, firstMountRetry)}, nil
	}
	if err := errors.Join(entriesErr, mountErr); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: retry.Sooner(mount.RequeueAfter, entries.RequeueAfter)}, nil
}

// mapOf returns the NamespaceMap of a binding, or nil if there is none to work on.
func (r *Reconciler) mapOf(ctx context.Context, binding *v1alpha1.ClusterBinding) (*v1alpha1.NamespaceMap, error) {
	nsm := &v1alpha1.NamespaceMap{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(binding), nsm)
	if err != nil {
		r.forgetEntries(binding.Name)
	}
	if err != nil || !nsm.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(nsm, binding) {
		return nil, client.IgnoreNotFound(err)
	}
	return nsm, nil
}

// entries reconciles the remote namespaces that a map asks for.
func (r *Reconciler) entries(ctx context.Context, provider *fleet.Provider, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap) (ctrl.Result, error) {
	if nsm == nil {
		return ctrl.Result{}, nil
	}
	snapshot, unshown, err := r.observe(ctx, nsm, binding, provider)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := namespacemap.Decide(snapshot)
	if err := r.begin(ctx, nsm, plan.Known); err != nil {
		return retry.Done(err)
	}
	tryAgain, actErr := r.newExecutor(provider, binding, r.outcomes).act(ctx, snapshot.BackingOff, &plan)
	_, again := r.outcomes.backingOff(binding.Name, mayNeedAction(snapshot))
	wait, reportErr := r.report(ctx, nsm, namespacemap.Report(nsm, plan.Known, metav1.NewTime(r.Clock.Now())))
	if actErr != nil {
		return ctrl.Result{}, errors.Join(actErr, reportErr)
	}
	if reportErr != nil {
		return retry.Done(reportErr)
	}
	return ctrl.Result{RequeueAfter: retry.Sooner(retry.Sooner(retry.Sooner(wait, tryAgain), unshown), again)}, nil
}

// observe reads both clusters' caches, and returns how long until it trusts them completely.
func (r *Reconciler) observe(ctx context.Context, nsm *v1alpha1.NamespaceMap, binding *v1alpha1.ClusterBinding,
	provider *fleet.Provider) (namespacemap.Snapshot, time.Duration, error) {
	s := namespacemap.Snapshot{
		Desired: nsm.Spec.DesiredMapping, ManagerNamespace: r.Settings.ManagerNamespace, Locals: map[string]types.UID{},
		Rules:   &namespacemap.Rules{RemoteNamespaces: binding.Spec.RemoteNamespaces, Binding: binding.Name, ConsumerID: r.Settings.ConsumerID},
		Existed: namespacemap.Existed(nsm), Existing: namespacemap.Existing(nsm),
	}
	mark := provenance.Mark{Origin: r.Origin, ClusterID: binding.Spec.ClusterID}
	var remotes corev1.NamespaceList
	if err := provider.GetClient().List(ctx, &remotes, client.UnsafeDisableDeepCopy); err != nil {
		return s, 0, fmt.Errorf("listing the namespaces of provider %s: %w", binding.Spec.ClusterID, err)
	}
	s.Remotes = make(map[string]namespacemap.RemoteNamespace, len(remotes.Items))
	for i := range remotes.Items {
		if mark.IsOn(&remotes.Items[i]) {
			s.Remotes[remotes.Items[i].Name] = remoteNamespace(&remotes.Items[i])
		}
	}
	unshown, err := written(ctx, provider.CacheReader, s.Remotes)
	if err != nil {
		return s, 0, err
	}
	if err := addLocals(ctx, r.Client, s); err != nil {
		return s, 0, err
	}
	s.BackingOff, _ = r.outcomes.backingOff(binding.Name, mayNeedAction(s))
	s.Kept, err = r.retained(ctx, binding, namespacemap.Decide(s).Deletes)
	return s, unshown, err
}

// addLocals adds the UIDs of the local namespaces that entries and remote namespaces name.
func addLocals(ctx context.Context, from client.Reader, s namespacemap.Snapshot) error {
	names := sets.New[string]()
	for _, entry := range s.Desired {
		names.Insert(entry.Namespace)
	}
	for _, remote := range s.Remotes {
		names.Insert(remote.LocalNamespace)
	}
	for name := range names.Delete("") {
		local := consumer.NamespaceMetadata()
		err := from.Get(ctx, client.ObjectKey{Name: name}, local)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("getting namespace %s: %w", name, err)
		}
		if err == nil {
			s.Locals[name] = local.UID
		}
	}
	return nil
}

// written corrects the listed remote namespaces by writes of this process that the cache does not show yet. It
// returns how long until it trusts the cache, zero if the cache shows all writes. The time matters because a
// namespace that was created and deleted between two reconciles causes no event.
func written(ctx context.Context, seen *ownwrites.Reader, remotes map[string]namespacemap.RemoteNamespace) (time.Duration, error) {
	var again time.Duration
	for _, name := range seen.Unshown(&corev1.Namespace{}) {
		remote := &corev1.Namespace{}
		switch err := seen.Get(ctx, name, remote); {
		case apierrors.IsNotFound(err):
			delete(remotes, name.Name)
		case err != nil:
			return 0, err
		default:
			remotes[name.Name] = remoteNamespace(remote)
			again = ownwrites.Lifetime
		}
	}
	return again, nil
}

// mayNeedAction returns the remote namespaces that may still need an action.
func mayNeedAction(s namespacemap.Snapshot) sets.Set[string] {
	remotes := sets.KeySet(s.Remotes)
	for _, entry := range s.Desired {
		remotes.Insert(entry.RemoteNamespace)
	}
	return remotes
}

func remoteNamespace(ns *corev1.Namespace) namespacemap.RemoteNamespace {
	local := provenance.LocalOf(ns)
	return namespacemap.RemoteNamespace{
		Name: ns.Name, UID: ns.UID,
		LocalNamespace: local.Namespace, LocalUID: local.UID,
		Terminating: !ns.DeletionTimestamp.IsZero(), DeletionBlocker: namespacemap.DeletionBlocker(ns),
	}
}

// report writes the status if it differs and the last write is long enough ago. Otherwise it returns when to
// write it.
func (r *Reconciler) report(ctx context.Context, nsm *v1alpha1.NamespaceMap, status v1alpha1.NamespaceMapStatus) (time.Duration, error) {
	if equality.Semantic.DeepEqual(nsm.Status, status) {
		return 0, nil
	}
	if wait := r.Pace.Wait(nsm.Name); wait > 0 {
		return wait, nil
	}
	if err := r.write(ctx, nsm, status); err != nil {
		return 0, err
	}
	r.Pace.Wrote(nsm.Name)
	return 0, nil
}

func (r *Reconciler) write(ctx context.Context, nsm *v1alpha1.NamespaceMap, status v1alpha1.NamespaceMapStatus) error {
	before := nsm.DeepCopy()
	nsm.Status = status
	if err := r.Client.Status().Patch(ctx, nsm, precondition.Locked(before)); err != nil {
		return fmt.Errorf("writing the status of NamespaceMap %s: %w", nsm.Name, err)
	}
	r.written.Expect(nsm)
	return nil
}

// begin records in the status of a new map that it has been processed, before it creates anything for the map
// in the provider. A map without that record has nothing in the provider, so nobody must wait for a provider
// that was never usable. The record names the remote namespaces of an earlier map, which somebody has deleted:
// deletions in the consumer wait for these.
func (r *Reconciler) begin(ctx context.Context, nsm *v1alpha1.NamespaceMap, known map[string]namespacemap.Known) error {
	if nsm.Status.ObservedGeneration != 0 {
		return nil
	}
	return r.write(ctx, nsm, namespacemap.Report(nsm, known, metav1.NewTime(r.Clock.Now())))
}

// reportUnreachable reports on every entry that nothing newer is known, once it is certain that the provider
// does not answer. A manager that has just started and is still connecting is not certain.
func (r *Reconciler) reportUnreachable(ctx context.Context, nsm *v1alpha1.NamespaceMap, binding *v1alpha1.ClusterBinding) (ctrl.Result, error) {
	connected := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingConnected)
	if nsm == nil || connected == nil || connected.Status != metav1.ConditionFalse {
		return ctrl.Result{}, nil // It is enqueued again when the condition turns False.
	}
	if r.Fleet.State(binding.Name).Phase == fleet.Connecting {
		// It may stay False, with no change to trigger a reconcile.
		return ctrl.Result{RequeueAfter: whileConnecting}, nil
	}
	message := fmt.Sprintf("last known state: %s: %s", connected.Reason, connected.Message)
	wait, err := r.report(ctx, nsm, namespacemap.Unreachable(nsm, message, metav1.NewTime(r.Clock.Now())))
	if err != nil {
		return retry.Done(err)
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

func (r *Reconciler) forget(name string) {
	r.forgetEntries(name)
	r.mounts.forget(name)
	r.bindings.Forget(types.NamespacedName{Name: name})
}

func (r *Reconciler) forgetEntries(name string) {
	r.Pace.Forget(name)
	r.outcomes.forget(name)
	r.written.Forget(types.NamespacedName{Name: name})
}
