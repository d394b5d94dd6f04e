package route

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// common returns the part of the spec that both kinds have. Two local parents may be mapped to the same
// Gateway, or to a Gateway and a section of it. An API server refuses a Gateway together with its
// section, so common then keeps only the whole Gateway.
func (r *routeTranslation) common(local gatewayv1.CommonRouteSpec) gatewayv1.CommonRouteSpec {
	remote, there := commonRouteSpecPlan.Allowed(&local), map[parentKey]bool{}
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

// notAccepted refuses a parent of the local route if a controller in the consumer refuses it. An
// example is a Gateway that allows no routes of this namespace. Otherwise a provider would serve what
// the consumer does not serve. If no controller in the consumer reports on a Gateway, the Gateway may
// have none.
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
