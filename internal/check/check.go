// Package check answers two questions about an installation from outside the manager: does it work, and can
// it be uninstalled. Each answer is one look, by an account that may read. The Helm chart asks both, in Jobs
// that run the manager's image.
package check

import (
	"cmp"
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

// LeaseName is the name of the Lease that the active manager holds.
const LeaseName = "spillway-manager"

// Removal returns an error that names what is left if only the manager can remove it. Without the manager,
// the deletion of a ClusterBinding or a NamespaceOffloading would hang, and what they created in the
// providers would stay.
func Removal(ctx context.Context, reader client.Reader) error {
	var bindings v1alpha1.ClusterBindingList
	var offloadings v1alpha1.NamespaceOffloadingList
	for _, list := range []client.ObjectList{&bindings, &offloadings} {
		if err := reader.List(ctx, list); err != nil && !meta.IsNoMatchError(err) { // Without the CRD, there is none.
			return fmt.Errorf("looking for what is left: %w", err)
		}
	}
	if len(bindings.Items)+len(offloadings.Items) == 0 {
		return nil
	}
	var offloaded, bound []string
	for i := range offloadings.Items {
		offloaded = append(offloaded, offloadings.Items[i].Namespace)
	}
	for i := range bindings.Items {
		bound = append(bound, bindings.Items[i].Name)
	}
	return fmt.Errorf("namespaces are still offloaded (%s), or clusters bound (%s). Delete these while the manager runs, so that it cleans up the providers: "+
		"kubectl label namespaces --all %s-; kubectl delete namespaceoffloadings --all -A; kubectl delete clusterbindings --all. "+
		"To keep them instead, run helm rollback to the revision that helm history shows: until then, Helm does not upgrade", named(offloaded), named(bound), v1alpha1.LabelOffload)
}

// named names the first few.
func named(names []string) string {
	const most = 5
	return cmp.Or(text.Few(names, most), "none")
}

// Holder returns the identity of the active manager, or "" if the Lease has expired.
func Holder(ctx context.Context, reader client.Reader, namespace string, now time.Time) (string, error) {
	var lease coordinationv1.Lease
	if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: LeaseName}, &lease); err != nil {
		return "", err
	}
	valid := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	if lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Add(valid).Before(now) {
		return "", nil
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), nil
}

// Installation says which manager is active and how many bindings are Ready. It returns an error if the Lease
// has expired, because then no manager is active.
func Installation(ctx context.Context, reader client.Reader, namespace string, now time.Time) (string, error) {
	holder, err := Holder(ctx, reader, namespace, now)
	if err != nil {
		return "", fmt.Errorf("reading the Lease of the active manager: %w", err)
	}
	if holder == "" {
		return "", fmt.Errorf("no manager is active: the Lease %s/%s is not held; see kubectl logs deployment/%s -n %[1]s", namespace, LeaseName, LeaseName)
	}
	var bindings v1alpha1.ClusterBindingList
	if err := reader.List(ctx, &bindings); err != nil {
		return "", fmt.Errorf("listing ClusterBindings: %w", err)
	}
	ready := 0
	for i := range bindings.Items {
		if meta.IsStatusConditionTrue(bindings.Items[i].Status.Conditions, v1alpha1.BindingReady) {
			ready++
		}
	}
	return fmt.Sprintf("manager %s is active; %d of %d ClusterBindings are Ready", holder, ready, len(bindings.Items)), nil
}
