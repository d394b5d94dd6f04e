package translate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// common is the part of the spec that both kinds have. Two parents may stand for one, or for a
// Gateway and a part of it: the whole one has that part, and an API server refuses both together.
func (r *routeTranslation) common(local gatewayv1.CommonRouteSpec) gatewayv1.CommonRouteSpec {
	remote, there := commonRouteSpecPlan.allowed(&local), map[parentKey]bool{}
	remote.ParentRefs = nil
	var refused *field.Problem
	for i := range local.ParentRefs {
		parent, mapped := remoteParent(&local.ParentRefs[i], r.namespace, r.gateways)
		if !mapped {
			continue
		}
		if refusal := r.notAccepted(&local.ParentRefs[i]); refusal != nil {
			refused = refusal
			continue
		}
		if key, _ := keyOf(&parent, ""); !there[key] {
			there[key] = true
			remote.ParentRefs = append(remote.ParentRefs, parent)
		}
	}
	if len(remote.ParentRefs) == 0 && refused != nil {
		r.refuse(refused)
	}
	remote.ParentRefs = slices.DeleteFunc(remote.ParentRefs, func(parent gatewayv1.ParentReference) bool {
		key, _ := keyOf(&parent, "")
		whole := parentKey{NamespacedName: key.NamespacedName}
		return key != whole && there[whole]
	})
	return remote
}

// notAccepted refuses a parent of the local route that a controller of this cluster refuses, for
// example because the Gateway does not let in routes of this namespace. Else a provider would
// serve what is not served here. If no controller here speaks of a Gateway, it may have none.
func (r *routeTranslation) notAccepted(parent *gatewayv1.ParentReference) *field.Problem {
	key, _ := keyOf(parent, r.namespace)
	for i := range r.parents {
		entry := &r.parents[i]
		if of, is := keyOf(&entry.ParentRef, r.namespace); !is || of != key || strings.HasPrefix(string(entry.ControllerName), v1alpha1.Domain+"/") {
			continue
		}
		if said := meta.FindStatusCondition(entry.Conditions, string(gatewayv1.RouteConditionAccepted)); said != nil && said.Status == metav1.ConditionFalse {
			return field.Refuse(ReasonNotAcceptedHere, "spec.parentRefs: Gateway %s of this cluster does not accept the route (%s); see its status.parents", key.NamespacedName, said.Reason)
		}
	}
	return nil
}
