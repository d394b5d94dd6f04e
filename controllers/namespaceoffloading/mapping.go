package namespaceoffloading

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespacemaps,verbs=create;patch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings/finalizers,verbs=update

// Mapping writes the spec of the NamespaceMap of each ClusterBinding.
//
// It creates the map together with all its entries: a map that is empty for a moment would ask for the deletion
// of every remote namespace.
type Mapping struct {
	Client    client.Client
	Inventory *inventory.Inventory
	// Counter counts the pods that must leave.
	Counter  inventory.Counter
	Settings namespaceoffloading.Settings
	// Pace limits the writes of one map.
	Pace *throttle.Pacer
}

// Reconcile reconciles the map of one ClusterBinding.
func (r *Mapping) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	binding := &v1alpha1.ClusterBinding{}
	if err := r.Client.Get(ctx, req.NamespacedName, binding); err != nil {
		r.Pace.Forget(req.Name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if binding.Spec.Paused || (!binding.DeletionTimestamp.IsZero() && !drain.ReachedNamespaces(binding)) {
		return ctrl.Result{}, nil
	}
	if wait := r.Pace.Wait(binding.Name); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	nsm := &v1alpha1.NamespaceMap{}
	err := r.Client.Get(ctx, req.NamespacedName, nsm)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("getting NamespaceMap %s: %w", binding.Name, err)
	}
	exists := err == nil
	wanted, err := r.wanted(ctx, binding, nsm)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case exists:
		return retry.Done(r.update(ctx, binding, nsm, wanted))
	default:
		return retry.Done(r.create(ctx, binding, wanted))
	}
}

func (r *Mapping) wanted(ctx context.Context, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap) ([]namespacemap.Wanted, error) {
	if !binding.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	var all v1alpha1.NamespaceOffloadingList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing NamespaceOffloadings: %w", err)
	}
	bindings, err := consumer.Bindings(ctx, r.Client)
	if err != nil {
		return nil, err
	}
	entries := sets.New[string]()
	for _, entry := range namespacemap.Entries(nsm) {
		entries.Insert(entry.Namespace)
	}
	var wanted []namespacemap.Wanted
	for i := range all.Items {
		nso, held := &all.Items[i], false
		asked := entries.Has(nso.Namespace)
		if namespaceoffloading.GoesElsewhere(nso, binding, bindings, nsm) {
			continue
		}
		if asked {
			left, err := inventory.CountBlocking(ctx, r.Counter, nso, binding)
			if err != nil {
				return nil, err
			}
			held = left > 0 || namespacemap.Unreported(nsm, nso.Namespace)
		}
		if w, ok := namespaceoffloading.Wanted(nso, binding, asked, held, r.Settings); ok {
			wanted = append(wanted, w)
		}
	}
	return wanted, nil
}

// create creates the map of a binding that holds its clusterID and is not being
// deleted.
func (r *Mapping) create(ctx context.Context, binding *v1alpha1.ClusterBinding, wanted []namespacemap.Wanted) error {
	bindings, err := consumer.Bindings(ctx, r.Client)
	if err != nil {
		return err
	}
	if !binding.DeletionTimestamp.IsZero() || bindings.Holder(binding.Spec.ClusterID) != binding.Name {
		return nil
	}
	nsm := &v1alpha1.NamespaceMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:   binding.Name,
			Labels: map[string]string{v1alpha1.LabelCluster: binding.Spec.ClusterID},
		},
		Spec: v1alpha1.NamespaceMapSpec{DesiredMapping: namespacemap.Desired(nil, wanted)},
	}
	if err := controllerutil.SetControllerReference(binding, nsm, r.Client.Scheme()); err != nil {
		return fmt.Errorf("making NamespaceMap %s: %w", binding.Name, err)
	}
	if err := r.Client.Create(ctx, nsm); err != nil {
		return fmt.Errorf("creating NamespaceMap %s: %w", binding.Name, err)
	}
	r.Pace.Wrote(binding.Name)
	return nil
}

func (r *Mapping) update(ctx context.Context, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap, wanted []namespacemap.Wanted) error {
	if owner := metav1.GetControllerOf(nsm); owner != nil && owner.UID != binding.UID {
		return nil // It belongs to an earlier binding of this name. Kubernetes collects it.
	}
	before := nsm.DeepCopy()
	if err := r.own(binding, nsm); err != nil {
		return err
	}
	nsm.Spec.DesiredMapping = namespacemap.Desired(namespacemap.Entries(nsm), wanted)
	if equality.Semantic.DeepEqual(before, nsm) {
		return nil
	}
	if err := r.Client.Patch(ctx, nsm, precondition.Locked(before)); err != nil {
		return fmt.Errorf("writing the entries of NamespaceMap %s: %w", nsm.Name, err)
	}
	r.Pace.Wrote(binding.Name)
	return nil
}

// own makes the binding the owner of the map: a user may have created it.
func (r *Mapping) own(binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap) error {
	if metav1.IsControlledBy(nsm, binding) {
		return nil
	}
	if err := controllerutil.SetControllerReference(binding, nsm, r.Client.Scheme()); err != nil {
		return fmt.Errorf("adopting NamespaceMap %s: %w", nsm.Name, err)
	}
	if nsm.Labels == nil {
		nsm.Labels = map[string]string{}
	}
	nsm.Labels[v1alpha1.LabelCluster] = binding.Spec.ClusterID
	return nil
}
