// Package mountnamespace creates the mount namespace of each provider whose
// ClusterBinding names one, reports on it in the condition MountNamespaceReady, and
// deletes it when the deletion of the ClusterBinding has reached it. It writes nothing
// else.
//
// A reconcile asks the provider itself: it runs only when the provider is engaged and
// when something changes, and the cache does not have other people's namespaces, one of
// which may have the name.
package mountnamespace

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/shard"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings/status,verbs=patch

const (
	// requestTimeout limits one request, including the client library's own retries.
	requestTimeout = 15 * time.Second
	// firstRetry and mostRetry are when to check again whether somebody else's namespace
	// has made room, or the provider allows what it has refused: neither is watched. The
	// same goes for one of ours that no watch has shown.
	firstRetry = 5 * time.Second
	mostRetry  = 30 * time.Second

	// See k8s.io/pod-security-admission/api: the label and its middle level.
	podSecurityEnforce = "pod-security.kubernetes.io/enforce"
)

// Reconciler reconciles mount namespaces.
type Reconciler struct {
	Client client.Client
	Fleet  *fleet.Fleet
	// Owner says which bindings this replica works for.
	Owner shard.Owner
	// Origin is the identity of the consumer.
	Origin string
	// ManagerNamespace is never a target.
	ManagerNamespace string
	Clock            clock.PassiveClock

	// refusals count how often what a binding asks for was refused, or not seen.
	refusals workqueue.TypedRateLimiter[string]
	// serverErrors are those in the answers of a binding's provider.
	serverErrors *retry.Streaks[string]
}

// Reconcile reconciles the mount namespace of one provider.
func (r *Reconciler) Reconcile(ctx context.Context, req mcreconcile.Request) (ctrl.Result, error) {
	binding := &v1alpha1.ClusterBinding{}
	if err := r.Client.Get(ctx, req.NamespacedName, binding); err != nil {
		r.refusals.Forget(req.Name)
		r.serverErrors.Forget(req.Name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if binding.Spec.MountNamespace == "" || binding.Spec.Paused || !r.Owner.Owns(binding.Name) {
		return ctrl.Result{}, nil
	}
	provider, err := r.Fleet.Get(ctx, multicluster.ClusterName(binding.Name))
	if errors.Is(err, multicluster.ErrClusterNotFound) {
		return ctrl.Result{}, nil // Enqueued again when it is engaged.
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	plan, err := r.decide(ctx, provider, binding)
	if err != nil {
		return ctrl.Result{}, err
	}
	if plan.Create && !mountnamespace.MayExist(binding) {
		// Reported before it is done, so that a deletion that begins now waits for it.
		if err := r.report(ctx, binding, plan.Ready); err != nil {
			return retry.Done(err)
		}
	}
	if plan, err = r.act(ctx, provider, binding, plan); err != nil {
		return retry.Done(err)
	}
	if err := r.report(ctx, binding, plan.Ready); err != nil {
		return retry.Done(err)
	}
	if refused(plan) {
		return ctrl.Result{RequeueAfter: r.refusals.When(binding.Name)}, nil
	}
	r.serverErrors.Forget(binding.Name)
	return r.followed(ctx, provider, binding)
}

// followed checks again later if no watch will show when the namespace goes.
func (r *Reconciler) followed(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding) (ctrl.Result, error) {
	silent, err := unseen(ctx, provider, binding)
	if err != nil {
		return ctrl.Result{}, err
	}
	if silent {
		return ctrl.Result{RequeueAfter: r.refusals.When(binding.Name)}, nil
	}
	r.refusals.Forget(binding.Name)
	return ctrl.Result{}, nil
}

// decide asks the provider what exists.
func (r *Reconciler) decide(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding) (mountnamespace.Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s := mountnamespace.Snapshot{Binding: binding, Mark: r.mark(binding), ManagerNamespace: r.ManagerNamespace}
	remote := &corev1.Namespace{}
	err := provider.GetAPIReader().Get(ctx, client.ObjectKey{Name: binding.Spec.MountNamespace}, remote)
	if retry.IgnoreGone(err) != nil {
		return mountnamespace.Plan{}, fmt.Errorf("getting namespace %s of provider %s: %w", binding.Spec.MountNamespace, binding.Spec.ClusterID, err)
	}
	if err == nil {
		s.Remote = remote
	}
	return mountnamespace.Decide(s), nil
}

// act carries out the plan, and decides again from the result.
func (r *Reconciler) act(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding, plan mountnamespace.Plan) (mountnamespace.Plan, error) {
	var err error
	switch {
	case plan.Create:
		err = r.create(ctx, provider, binding)
	case plan.Delete != "":
		err = r.delete(ctx, provider, binding, plan.Delete)
	default:
		return plan, nil
	}
	var answer apierrors.APIStatus
	switch {
	case err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return r.look(ctx, provider, binding, err)
	case retry.IsServerError(err) && r.serverErrors.Note(binding.Name, r.Clock.Now()) && errors.As(err, &answer):
		return failing(binding, provenance.Clean(answer.Status().Message)), nil
	case retry.SaysWhy(err) && errors.As(err, &answer):
		return mountnamespace.Refused(plan, provenance.Clean(answer.Status().Message)), nil
	default:
		return plan, err
	}
}

// failing reports a server error, in the words used before if it is the same one.
func failing(binding *v1alpha1.ClusterBinding, answer string) mountnamespace.Plan {
	if said, ok := mountnamespace.IsFailing(binding); ok && retry.SameError(said, answer) {
		answer = said
	}
	return mountnamespace.Failing(answer)
}

// look decides again after a write that was carried out or, according to the answer,
// overtaken. What then is left to do waits for the next reconcile.
func (r *Reconciler) look(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding, answered error) (mountnamespace.Plan, error) {
	again, err := r.decide(ctx, provider, binding)
	if err != nil || !again.Create && again.Delete == "" {
		return again, err
	}
	if answered == nil {
		return again, fmt.Errorf("namespace %s of provider %s is gone as soon as it is there", binding.Spec.MountNamespace, binding.Spec.ClusterID)
	}
	return again, answered
}

func (r *Reconciler) create(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	mark := r.mark(binding)
	mark.Account = fleet.AccountOf(provider)
	labels := mark.Labels()
	labels[podSecurityEnforce] = fleet.LimitsOf(provider).Enforced()
	remote := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: binding.Spec.MountNamespace, Labels: labels}}
	if err := provider.GetClient().Create(ctx, remote); err != nil {
		return fmt.Errorf("creating namespace %s in provider %s: %w", remote.Name, binding.Spec.ClusterID, err)
	}
	return nil
}

func (r *Reconciler) delete(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding, uid types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	remote := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: binding.Spec.MountNamespace}}
	if err := provider.GetClient().Delete(ctx, remote, client.Preconditions{UID: &uid}); err != nil {
		return fmt.Errorf("deleting namespace %s in provider %s: %w", remote.Name, binding.Spec.ClusterID, err)
	}
	return nil
}

func (r *Reconciler) mark(binding *v1alpha1.ClusterBinding) provenance.Mark {
	return provenance.Mark{Origin: r.Origin, ClusterID: binding.Spec.ClusterID}
}

// report writes the condition if it differs.
func (r *Reconciler) report(ctx context.Context, binding *v1alpha1.ClusterBinding, ready *metav1.Condition) error {
	if ready == nil {
		return nil
	}
	before := binding.DeepCopy()
	conditions.Set(&binding.Status.Conditions, binding.Generation, *ready)
	if equality.Semantic.DeepEqual(before.Status, binding.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, binding, precondition.Locked(before)); err != nil {
		return fmt.Errorf("writing the condition %s of ClusterBinding %s: %w", ready.Type, binding.Name, err)
	}
	return nil
}

// refused reports whether the provider refuses the namespace, or somebody else has it.
func refused(plan mountnamespace.Plan) bool {
	if plan.Ready == nil {
		return false
	}
	switch plan.Ready.Reason {
	case v1alpha1.ReasonNameConflict, v1alpha1.ReasonCreationFailed, v1alpha1.ReasonDeletionFailed, v1alpha1.ReasonServerError:
		return true
	default:
		return false
	}
}

// unseen reports whether the namespace exists and the cache lacks it: if it goes before
// an interrupted watch has shown it, nothing will report its end.
func unseen(ctx context.Context, provider cluster.Cluster, binding *v1alpha1.ClusterBinding) (bool, error) {
	if !mountnamespace.MayExist(binding) {
		return false, nil
	}
	err := provider.GetClient().Get(ctx, client.ObjectKey{Name: binding.Spec.MountNamespace}, &corev1.Namespace{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading namespace %s of provider %s from the cache: %w", binding.Spec.MountNamespace, binding.Spec.ClusterID, err)
	}
	return err != nil, nil
}
