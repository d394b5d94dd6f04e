// Package clusterprofile publishes each ClusterBinding as a ClusterProfile, for tools that read an inventory of clusters.
// It runs only if the manager is asked for that. It never publishes credentials, nor where the provider is.
package clusterprofile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	inventoryv1alpha1 "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/shard"
	"github.com/spillway-io/spillway/internal/trigger"
)

// foreignRetry is when to look again for a profile of another owner. No event reports its deletion, because profiles are
// not watched. It may be that of an earlier binding of that name, which Kubernetes is about to delete.
const foreignRetry = 30 * time.Second

// What it may do with ClusterProfiles is in config/rbac/cluster_profiles_role.yaml, which nothing binds.
//
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the ClusterProfiles of the bindings that this replica works for.
type Reconciler struct {
	Client client.Client
	// Live reads the profiles. No cache holds them: most clusters do not serve the kind.
	Live      client.Reader
	Inventory *inventory.Inventory
	Owner     shard.Owner
	Events    events.EventRecorder
	// Namespace is where the profiles are.
	Namespace string
	Clock     clock.PassiveClock
	// Pace spaces out the looks at one binding, and so the reads and the writes of its profile. What is free changes with
	// each pod. Small limits those for small changes of it.
	Pace  *throttle.Pacer
	Small *throttle.Allowance[string]

	seen sync.Map // The profiles as this process has last read or written them, by the name of the binding.
}

// Reconcile brings the profile of one binding up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := Snapshot{Binding: &v1alpha1.ClusterBinding{}, Namespace: r.Namespace, Now: r.Clock.Now()}
	exists, err := consumer.Exists(ctx, r.Client, req.NamespacedName, s.Binding)
	if !exists || err != nil {
		r.Pace.Forget(req.Name)
		r.Small.Forget(req.Name)
		r.seen.Delete(req.Name)
		return ctrl.Result{}, err
	}
	if !r.Owner.Owns(req.Name) {
		r.seen.Delete(req.Name)
		return ctrl.Result{}, nil
	}
	if wait := r.Pace.Wait(req.Name); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if s.Nodes, err = consumer.VirtualNodes(ctx, r.Client, s.Binding); err != nil {
		return ctrl.Result{}, err
	}
	s.Pods, err = r.Inventory.Pods(ctx, req.Name, "")
	if s.Known = err == nil; err != nil && !errors.Is(err, inventory.ErrUnknown) {
		return ctrl.Result{}, err
	}
	if wait, due := r.due(&s); !due {
		r.Pace.Wrote(req.Name)
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	existing := &inventoryv1alpha1.ClusterProfile{}
	err = r.Live.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: req.Name}, existing)
	switch {
	case retry.IsGone(err): // Not: its kind is not served any more.
	case err != nil:
		return ctrl.Result{}, r.failed(s, "getting", err)
	default:
		s.Existing = existing
	}
	r.Pace.Wrote(req.Name)
	plan := Decide(s)
	r.saw(s.Existing, s.Binding, plan)
	return r.act(ctx, s, plan)
}

// due reports whether the profile has to be read, and perhaps written. If not, wait is how long a small change still waits.
// What this process has last seen says that without a request. Small changes are due after a while, and then the profile is
// read in any case, so what somebody else has changed is corrected.
func (r *Reconciler) due(s *Snapshot) (wait time.Duration, due bool) {
	wait = r.Small.Wait(s.Binding.Name)
	s.Exact = wait == 0
	last, _ := r.seen.Load(s.Binding.Name)
	seen, known := last.(*inventoryv1alpha1.ClusterProfile)
	if s.Exact || !known {
		return 0, true
	}
	as := *s
	as.Existing = seen
	plan := Decide(as)
	if plan.Later {
		return wait, false
	}
	return 0, plan != Plan{}
}

// saw remembers a profile that was read or written, if it is ours and stays. From then on, small changes wait.
func (r *Reconciler) saw(profile *inventoryv1alpha1.ClusterProfile, binding *v1alpha1.ClusterBinding, plan Plan) {
	r.seen.Delete(binding.Name)
	if profile != nil && profile.DeletionTimestamp.IsZero() && !plan.Foreign {
		r.seen.Store(binding.Name, profile)
	}
	if !plan.Later {
		r.Small.Wrote(binding.Name)
	}
}

func (r *Reconciler) act(ctx context.Context, s Snapshot, plan Plan) (ctrl.Result, error) {
	switch {
	case plan.Foreign:
		r.Events.Eventf(s.Binding, nil, corev1.EventTypeWarning, v1alpha1.ReasonNameConflict, "Publish", "%s",
			conditions.Note(fmt.Sprintf("ClusterProfile %s/%s is not Spillway's, so the provider is not published: delete it", r.Namespace, s.Binding.Name)))
		return ctrl.Result{RequeueAfter: foreignRetry}, nil
	case plan.Create != nil:
		if err := r.Client.Create(ctx, plan.Create); err != nil {
			return ctrl.Result{}, r.failed(s, "creating", err) // Not found means that the namespace is missing.
		}
		s.Existing = plan.Create
		return r.act(ctx, s, Decide(s))
	case plan.Status != nil:
		err := r.Client.Status().Patch(ctx, plan.Status, precondition.Locked(s.Existing))
		if err == nil {
			r.seen.Store(s.Binding.Name, plan.Status)
			return ctrl.Result{}, nil
		}
		r.seen.Delete(s.Binding.Name) // It is read again.
		result, err := retry.Done(err)
		if err != nil {
			err = r.failed(s, "writing the status of", err)
		}
		return result, err
	case plan.Later:
		return ctrl.Result{RequeueAfter: max(r.Small.Wait(s.Binding.Name), time.Second)}, nil
	}
	return ctrl.Result{}, nil
}

// failed tells the platform engineer what is missing.
func (r *Reconciler) failed(s Snapshot, what string, err error) error {
	reason, missing := lack(err)
	err = fmt.Errorf("%s ClusterProfile %s/%s: %w", what, r.Namespace, s.Binding.Name, err)
	if reason != "" {
		r.Events.Eventf(s.Binding, nil, corev1.EventTypeWarning, reason, "Publish", "%s",
			conditions.Note(fmt.Sprintf("the provider is not published, although the manager has the flag --cluster-profiles: %s: %v", missing, err)))
	}
	return err
}

// lack says what an administrator must add before a request can succeed: the reason of an event, and a text. The reason is
// empty if nothing is missing. The manager tries again every half minute.
func lack(err error) (reason, missing string) {
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && !retry.IsGone(err):
		return v1alpha1.ReasonKindNotServed, "install the CustomResourceDefinition clusterprofiles.multicluster.x-k8s.io, version v1alpha1"
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return v1alpha1.ReasonNamespaceMissing, "create the namespace again: it is being deleted"
	case apierrors.IsForbidden(err):
		return v1alpha1.ReasonRightsMissing, "bind the ClusterRole spillway-cluster-profiles to the manager in that namespace"
	case apierrors.IsNotFound(err):
		return v1alpha1.ReasonNamespaceMissing, "create the namespace"
	}
	return "", ""
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("clusterprofile").
		For(&v1alpha1.ClusterBinding{}).
		Owns(&corev1.Node{}).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, func(_ context.Context, change inventory.Change) []reconcile.Request {
			if change.Copies {
				return nil
			}
			return []reconcile.Request{trigger.Named(change.Binding)}
		})).
		WatchesRawSource(shard.Source(r.Owner, trigger.Named)).
		WithOptions(controller.Options{RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}
