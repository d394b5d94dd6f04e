package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// rights asks whether the manager has the rights of its roles.
func (i *installation) rights(ctx context.Context) {
	roles, err := Granted(i.shipped, config.Manager, "spillway-leader-election")
	if err != nil {
		i.found(Finding{Level: Error, Check: "rights", Message: err.Error()})
		return
	}
	missing, err := i.lacks(ctx, rightsOf(roles))
	if err != nil {
		i.found(Finding{Level: Warning, Check: "rights", Message: "the manager's rights in this cluster are unknown: " + err.Error(), Mend: "run doctor as a cluster administrator"})
		return
	}
	i.found(ofRights("", "the manager", missing, roles, "kubectl spillway install"))
}

// lacks returns those of the rights that the manager does not have.
func (i *installation) lacks(ctx context.Context, rights []cli.Right) ([]cli.Right, error) {
	account := "system:serviceaccount:" + config.Namespace + ":" + config.Manager
	var missing []cli.Right
	for _, right := range rights {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + config.Namespace, "system:authenticated"}, ResourceAttributes: right.Attributes(),
		}}
		if err := i.consumer.Create(ctx, review); err != nil {
			return nil, err
		}
		if !review.Status.Allowed {
			missing = append(missing, right)
		}
	}
	return missing, nil
}

// ofRights is the finding about the rights of an account. If a role of many rights has no effect, it says so, instead of
// naming its rights.
func ofRights(object, who string, missing []cli.Right, roles []Role, mend string) Finding {
	if len(missing) == 0 {
		return Finding{Level: OK, Check: "rights", Object: object, Message: who + " has all of them"}
	}
	const nearlyAll = 0.9
	var said []string
	left := missing
	for _, role := range roles {
		others := slices.DeleteFunc(slices.Clone(left), func(right cli.Right) bool { return slices.Contains(role.Rights, right) })
		if lacked, all := len(left)-len(others), len(role.Rights); lacked > shown && float64(lacked) >= nearlyAll*float64(all) {
			said = append(said, fmt.Sprintf("%d of the %d rights of %s: is it bound to that account?", lacked, all, role.Name))
			left = others
		}
	}
	if len(left) > 0 {
		said = append(said, text.Few(named(left), shown))
	}
	return Finding{Level: Error, Check: "rights", Object: object, Message: who + " lacks: " + strings.Join(said, "; "), Mend: mend, Missing: named(missing)}
}

func named(rights []cli.Right) []string {
	names := make([]string, len(rights))
	for i, right := range rights {
		names[i] = right.String()
	}
	return names
}

// Role is a role that comes with Spillway.
type Role struct {
	// Name has the kind, too.
	Name   string
	Rights []cli.Right
}

// rightsOf returns the rights of all roles.
func rightsOf(roles []Role) []cli.Right {
	var rights []cli.Right
	for _, role := range roles {
		rights = append(rights, role.Rights...)
	}
	return rights
}

// Granted returns the roles with these names, with a right for each verb.
func Granted(objects []*unstructured.Unstructured, names ...string) ([]Role, error) {
	var roles []Role
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" || !anyPrefix(object.GetName(), names) {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			return nil, fmt.Errorf("reading the shipped %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		one := Role{Name: object.GetKind() + " " + object.GetName()}
		for _, rule := range role.Rules {
			one.Rights = append(one.Rights, ofRule(rule, role.Namespace)...)
		}
		roles = append(roles, one)
	}
	return roles, nil
}

func anyPrefix(name string, all []string) bool {
	for _, one := range all {
		if strings.HasPrefix(name, one) {
			return true
		}
	}
	return false
}

func ofRule(rule rbacv1.PolicyRule, namespace string) []cli.Right {
	var rights []cli.Right
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					rights = append(rights, cli.Right{Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name})
				}
			}
		}
	}
	return rights
}
