package doctor

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// rights asks whether the manager has the rights of its roles.
func (i *installation) rights(ctx context.Context) {
	account := "system:serviceaccount:" + config.Namespace + ":" + config.Manager
	all, err := Granted(i.shipped, config.Manager, "spillway-leader-election")
	if err != nil {
		i.found(Finding{Level: Error, Check: "rights", Message: err.Error()})
		return
	}
	var missing []string
	for _, right := range all {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + config.Namespace, "system:authenticated"}, ResourceAttributes: right.Attributes(),
		}}
		if err := i.consumer.Create(ctx, review); err != nil {
			i.found(Finding{Level: Warning, Check: "rights", Message: "the manager's rights in this cluster are unknown: " + err.Error(), Mend: "run doctor as a cluster administrator"})
			return
		}
		if !review.Status.Allowed {
			missing = append(missing, right.String())
		}
	}
	i.found(ofRights("", "the manager", missing, "kubectl spillway install"))
}

func ofRights(object, who string, missing []string, mend string) Finding {
	if len(missing) > 0 {
		return Finding{Level: Error, Check: "rights", Object: object, Message: who + " lacks: " + strings.Join(missing, ", "), Mend: mend}
	}
	return Finding{Level: OK, Check: "rights", Object: object, Message: who + " has all of them"}
}

// Granted returns the rights of the roles with these names, one for each verb.
func Granted(objects []*unstructured.Unstructured, names ...string) ([]cli.Right, error) {
	var rights []cli.Right
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" || !anyPrefix(object.GetName(), names) {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			return nil, fmt.Errorf("reading the shipped %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		for _, rule := range role.Rules {
			rights = append(rights, ofRule(rule, role.Namespace)...)
		}
	}
	return rights, nil
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
