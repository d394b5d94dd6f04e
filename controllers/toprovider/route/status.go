package route

import (
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

const (
	// mostParents is how many entries a route may have in its status, from all controllers.
	mostParents = 32
	// mostReported is how many of these entries may come from one provider.
	mostReported = 16
	// reasonUnreadable replaces a reason that an API server would refuse.
	reasonUnreadable = "Unreadable"
)

// routeConditions are the types of conditions that come from the provider.
var routeConditions = [...]gatewayv1.RouteConditionType{
	gatewayv1.RouteConditionAccepted, gatewayv1.RouteConditionResolvedRefs, gatewayv1.RouteConditionPartiallyInvalid,
}

// reasonPattern is the pattern that an API server requires for the reason of a route's condition.
var reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// ReportRoute returns local with the status that the provider reports for its copy, remote. It returns
// local itself if that changes nothing. If remote is nil, it removes everything that the provider
// reported.
//
// The provider's reports are separate entries in status.parents, with the controllerName
// spillway.io/<clusterID>. There is one for each parent that is mapped to a Gateway and that some
// controller in the provider reported on.
//
// A condition's observedGeneration becomes local's generation only if the controller has seen a remote
// route with the spec that follows from local. No time is later than now, even if the provider's clock
// is ahead.
func ReportRoute[T Route](local, remote T, clusterID string, gateways field.Gateways, now time.Time) T {
	if remote == nil && !slices.Contains(RouteReporters(local), clusterID) {
		return local // Nearly all routes.
	}
	reported := local.DeepCopyObject().(T)
	parts, name := partsOf(reported), gatewayv1.GatewayController(v1alpha1.Domain+"/"+clusterID)
	others := []gatewayv1.RouteParentStatus{} // Never nil, because a status must have a list of parents.
	var were, are []gatewayv1.RouteParentStatus
	for _, entry := range parts.Parents {
		if entry.ControllerName == name {
			were = append(were, entry)
		} else {
			others = append(others, entry)
		}
	}
	if remote != nil {
		from := routeReport{
			now: metav1.NewTime(now.Truncate(time.Second)), namespace: remote.GetNamespace(), entries: partsOf(remote).Parents,
			generation: local.GetGeneration(), seen: remote.GetGeneration(), created: local.GetCreationTimestamp(),
			current: hasSpecOf(remote, local.DeepCopyObject(), &routeTranslation{namespace: local.GetNamespace(), gateways: gateways, parents: partsOf(local).Parents}),
		}
		for i := range parts.ParentRefs {
			parent := parts.ParentRefs[i]
			there, mapped := remoteParent(&parent, local.GetNamespace(), gateways)
			if !mapped || len(are) == mostReported || len(others)+len(are) == mostParents {
				continue
			}
			before := conditionsOf(were, &parent)
			conditions := from.conditions(&there, before)
			if len(conditions) == 0 { // The copy may have the whole Gateway as its parent instead of a section.
				there.SectionName, there.Port = nil, nil
				conditions = from.conditions(&there, before)
			}
			if len(conditions) > 0 {
				are = append(are, gatewayv1.RouteParentStatus{ParentRef: parent, ControllerName: name, Conditions: conditions})
			}
		}
	}
	if equality.Semantic.DeepEqual(were, are) {
		return local
	}
	others = append(others, are...)
	parts.Parents = others
	return reported
}

// RouteReporters returns the clusterIDs of the providers that reported into a route's status, sorted,
// each once. For other objects it returns none.
func RouteReporters(object any) []string {
	var all []string
	if parts := partsOf(object); parts.RouteStatus != nil {
		for i := range parts.Parents {
			if clusterID, is := strings.CutPrefix(string(parts.Parents[i].ControllerName), v1alpha1.Domain+"/"); is {
				all = append(all, clusterID)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hasSpecOf reports whether a remote route has the spec that follows from a local one. It changes
// local.
func hasSpecOf(remote, local any, r *routeTranslation) bool {
	switch local := local.(type) {
	case *gatewayv1.HTTPRoute:
		return equality.Semantic.DeepEqual(remote.(*gatewayv1.HTTPRoute).Spec, r.httpSpec(&local.Spec))
	case *gatewayv1.GRPCRoute:
		return equality.Semantic.DeepEqual(remote.(*gatewayv1.GRPCRoute).Spec, r.grpcSpec(&local.Spec))
	}
	return false
}

// conditionsOf returns the conditions in a parent's entry, or nil.
func conditionsOf(entries []gatewayv1.RouteParentStatus, parent *gatewayv1.ParentReference) []metav1.Condition {
	for i := range entries {
		if equality.Semantic.DeepEqual(&entries[i].ParentRef, parent) {
			return entries[i].Conditions
		}
	}
	return nil
}

// routeReport is what a provider reports about a remote route.
type routeReport struct {
	now       metav1.Time
	namespace string // Of the remote route.
	entries   []gatewayv1.RouteParentStatus
	// generation is the generation of the local route, and seen is the generation of the remote route.
	// current reports that the remote route has the spec that it should have.
	generation, seen int64
	current          bool
	created          metav1.Time // When the local route was created.
}

// conditions returns the conditions of a remote parent for the local route. before are the conditions
// that the local route has. If several controllers in the provider report on a parent, the first one
// counts.
func (r *routeReport) conditions(parent *gatewayv1.ParentReference, before []metav1.Condition) (all []metav1.Condition) {
	key, _ := keyOf(parent, "")
	for _, kind := range routeConditions {
		for i := range r.entries {
			of, is := keyOf(&r.entries[i].ParentRef, r.namespace)
			if !is || of != key {
				continue
			}
			from := meta.FindStatusCondition(r.entries[i].Conditions, string(kind))
			if from != nil && field.IsStatus(corev1.ConditionStatus(from.Status)) {
				all = append(all, r.condition(from, meta.FindStatusCondition(before, string(kind))))
				break
			}
		}
	}
	return all
}

// condition returns a condition of the provider for the local route. before is the condition that the
// local route has, or nil.
func (r *routeReport) condition(from, before *metav1.Condition) metav1.Condition {
	c := metav1.Condition{
		Type: from.Type, Status: from.Status, Reason: from.Reason,
		Message: field.Bounded(from.Message, field.MaxMessage),
	}
	var since metav1.Time
	if before != nil && before.Status == c.Status {
		since = before.LastTransitionTime
	}
	c.LastTransitionTime = field.ReportedTime(from.LastTransitionTime, since, r.now)
	if len(c.Reason) > field.MaxReason || !reasonPattern.MatchString(c.Reason) {
		c.Reason = reasonUnreadable
	}
	if c.LastTransitionTime.IsZero() { // An API server requires one.
		c.LastTransitionTime = r.created
	}
	switch {
	case r.current && from.ObservedGeneration == r.seen:
		c.ObservedGeneration = r.generation
	case before != nil:
		c.ObservedGeneration = before.ObservedGeneration
	}
	return c
}
