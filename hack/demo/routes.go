package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// serveRoutes installs the CustomResourceDefinitions of the Gateway API in the consumer and in provider eu,
// but not in provider us.
func (d *demo) serveRoutes(ctx context.Context) error {
	crds, err := manifests.GatewayAPI(ctx)
	if err != nil {
		return err
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": crds})
	if err != nil {
		return err
	}
	for _, name := range []string{consumer, "eu"} {
		if err := d.apply(ctx, name, list); err != nil {
			return fmt.Errorf("applying the definitions of the Gateway API: %w", err)
		}
		if _, err := d.kubectl(ctx, name, nil, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"); err != nil {
			return fmt.Errorf("waiting for the definitions of the Gateway API: %w", err)
		}
	}
	return nil
}

// routeAccepted returns an error if team-a's HTTPRoute is not accepted yet.
func (d *demo) routeAccepted(ctx context.Context) error {
	key := client.ObjectKey{Namespace: "team-a", Name: "api"}
	route := &gatewayv1.HTTPRoute{}
	if err := d.consumer.Get(ctx, key, route); err != nil {
		return fmt.Errorf("httproute %s: %w", key, err)
	}
	for _, parent := range route.Status.Parents {
		if meta.IsStatusConditionTrue(parent.Conditions, string(gatewayv1.RouteConditionAccepted)) {
			return nil
		}
	}
	return fmt.Errorf("httproute %s: no Gateway has accepted it", key)
}

// playGateway sets the status of each new HTTPRoute in provider eu, as the controller of its Gateway would.
// kwok cannot do this: when it starts, the cluster has no routes yet.
func (d *demo) playGateway(ctx context.Context) error {
	routes := &gatewayv1.HTTPRouteList{}
	if err := d.eu.List(ctx, routes, client.MatchingLabels{offloadingv1alpha1.LabelManagedBy: offloadingv1alpha1.ManagedBySpillway}); err != nil {
		return fmt.Errorf("listing the HTTPRoutes of provider eu: %w", err)
	}
	var errs []error
	for i := range routes.Items {
		route := &routes.Items[i]
		if len(route.Status.Parents) > 0 {
			continue
		}
		before := route.DeepCopy()
		for _, parent := range route.Spec.ParentRefs {
			accepted := gatewayv1.RouteParentStatus{ParentRef: parent, ControllerName: "example.com/gateway"}
			for _, condition := range []gatewayv1.RouteConditionType{gatewayv1.RouteConditionAccepted, gatewayv1.RouteConditionResolvedRefs} {
				meta.SetStatusCondition(&accepted.Conditions, metav1.Condition{
					Type: string(condition), Status: metav1.ConditionTrue, Reason: string(condition), ObservedGeneration: route.Generation,
				})
			}
			route.Status.Parents = append(route.Status.Parents, accepted)
		}
		errs = append(errs, client.IgnoreNotFound(d.eu.Status().Patch(ctx, route, client.MergeFrom(before))))
	}
	return errors.Join(errs...)
}
