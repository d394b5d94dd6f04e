package uninstall

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// grants returns what somebody has bound to the manager besides what is shipped, such as the ClusterRole spillway-volumes, which
// nothing else binds. A user who may not read it need not know.
func grants(ctx context.Context, consumer *cli.Cluster, shipped []*unstructured.Unstructured) ([]cli.Step, error) {
	everywhere, within := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	if err := consumer.List(ctx, everywhere); err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("reading ClusterRoleBindings: %w", err)
	}
	if err := consumer.List(ctx, within); err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("reading RoleBindings: %w", err)
	}
	return stays(everywhere.Items, within.Items, shipped), nil
}

// stays returns the steps of such bindings. Those in the manager's namespace go with it.
func stays(everywhere []rbacv1.ClusterRoleBinding, within []rbacv1.RoleBinding, shipped []*unstructured.Unstructured) []cli.Step {
	ships := func(kind, namespace, name string) bool {
		return slices.ContainsFunc(shipped, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == kind && o.GetNamespace() == namespace && o.GetName() == name
		})
	}
	const why = "somebody has created it for the manager, and a manager that you install later has its rights again: kubectl delete "
	var steps []cli.Step
	for i := range everywhere {
		if b := &everywhere[i]; ours(b.Subjects) && !ships("ClusterRoleBinding", "", b.Name) {
			steps = append(steps, cli.Step{Cluster: "consumer", Object: "clusterrolebinding.rbac.authorization.k8s.io/" + b.Name, Action: "kept", Message: why + "clusterrolebinding " + b.Name})
		}
	}
	for i := range within {
		if b := &within[i]; ours(b.Subjects) && b.Namespace != config.Namespace && !ships("RoleBinding", b.Namespace, b.Name) {
			steps = append(steps, cli.Step{
				Cluster: "consumer", Object: "rolebinding.rbac.authorization.k8s.io/" + b.Name, Namespace: b.Namespace, Action: "kept", Message: why + "rolebinding " + b.Name + " -n " + b.Namespace,
			})
		}
	}
	return steps
}

// ours reports whether the manager is one of the subjects.
func ours(subjects []rbacv1.Subject) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == config.Namespace && s.Name == config.Manager
	})
}
