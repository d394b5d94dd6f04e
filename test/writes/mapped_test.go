package writes

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/samples"
)

// mapped is a kind. All its objects in an offloaded namespace are sent.
type mapped struct {
	resource string
	fresh    func(namespace, name string) client.Object
	change   func(client.Object)
	// shows returns the part of an object that change changes.
	shows func(client.Object) string
}

var (
	services = mapped{
		"services", newService,
		func(obj client.Object) { obj.(*corev1.Service).Spec.Ports[0].Port = 81 },
		func(obj client.Object) string { return fmt.Sprint(obj.(*corev1.Service).Spec.Ports[0].Port) },
	}
	networkPolicies = mapped{
		"networkpolicies", newNetworkPolicy,
		func(obj client.Object) {
			obj.(*networkingv1.NetworkPolicy).Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
		},
		func(obj client.Object) string { return fmt.Sprint(obj.(*networkingv1.NetworkPolicy).Spec.PolicyTypes) },
	}
	endpointSlices = mapped{
		"endpointslices", newEndpointSlice,
		func(obj client.Object) { obj.(*discoveryv1.EndpointSlice).Endpoints[0].Addresses[0] = "192.0.2.2" },
		func(obj client.Object) string { return fmt.Sprint(obj.(*discoveryv1.EndpointSlice).Endpoints) },
	}
	budgets = mapped{
		"poddisruptionbudgets", newBudget,
		func(obj client.Object) { obj.(*policyv1.PodDisruptionBudget).Spec.MinAvailable.IntVal = 2 },
		func(obj client.Object) string { return obj.(*policyv1.PodDisruptionBudget).Spec.MinAvailable.String() },
	}
	ingresses = mapped{
		"ingresses", newIngress,
		func(obj client.Object) { obj.(*networkingv1.Ingress).Spec.Rules[0].Host = "b." + samples.Domain },
		func(obj client.Object) string { return obj.(*networkingv1.Ingress).Spec.Rules[0].Host },
	}
	routes = mapped{
		"httproutes", newRoute,
		func(obj client.Object) { obj.(*gatewayv1.HTTPRoute).Spec.Hostnames[0] = "b." + samples.Domain },
		func(obj client.Object) string { return string(obj.(*gatewayv1.HTTPRoute).Spec.Hostnames[0]) },
	}
)

// addressed is a kind to which a provider gives an address.
type addressed struct {
	resource string
	fresh    func(namespace, name string) client.Object
	give     func(obj client.Object, ip string)
}

var (
	allMapped    = []mapped{services, endpointSlices, networkPolicies, budgets, ingresses, routes}
	allAddressed = []addressed{
		{"services", newBalanced, func(obj client.Object, ip string) {
			obj.(*corev1.Service).Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
		}},
		{"ingresses", newIngress, func(obj client.Object, ip string) {
			obj.(*networkingv1.Ingress).Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: ip}}
		}},
		{"httproutes", newRoute, func(obj client.Object, _ string) {
			samples.HTTPRoute("", "", "").Report(obj.(*gatewayv1.HTTPRoute))
		}},
	}
)

// mapped creates, changes and deletes an object of each kind. The object is in both providers.
func (s *setup) mapped(t *testing.T) {
	for _, kind := range allMapped {
		t.Run(kind.resource, func(t *testing.T) {
			t.Parallel()
			s.liveThrough(t, kind)
		})
	}
	for _, kind := range allAddressed {
		t.Run(kind.resource+" with addresses", func(t *testing.T) {
			t.Parallel()
			s.giveAddresses(t, kind)
		})
	}
}

// wantOfMapped returns the requests in these lives: one for each step in each provider, and one for each
// address.
func wantOfMapped() (want []string) {
	for _, provider := range providers {
		for _, kind := range allMapped {
			for _, verb := range []string{"create", "patch", "delete"} {
				want = append(want, fmt.Sprintf("%s: %s %s front", provider, verb, kind.resource))
			}
		}
		for _, kind := range allAddressed {
			want = append(want, fmt.Sprintf("%s: create %s shop", provider, kind.resource), fmt.Sprintf("consumer: patch %s/status shop", kind.resource), fmt.Sprintf("%s: delete %s shop", provider, kind.resource))
		}
	}
	return want
}

// giveAddresses creates an object to which each provider gives an address, one provider after the other.
func (s *setup) giveAddresses(t *testing.T, kind addressed) {
	ctx, admin := t.Context(), s.Consumer.Admin
	local := kind.fresh(rig.Namespace(inRestart).GetName(), "shop")
	must(t, admin.Create(ctx, local))
	for i, provider := range s.Providers {
		remote := kind.fresh(remoteNamespace(inRestart), "shop")
		s.eventually(t, "the remote "+kind.resource, func(ctx context.Context) error {
			return provider.Admin.Get(ctx, client.ObjectKeyFromObject(remote), remote)
		})
		kind.give(remote, fmt.Sprintf("203.0.113.%d", i+1))
		must(t, provider.Admin.Status().Update(ctx, remote))
		s.eventually(t, "its address", func(ctx context.Context) error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(local), local); err != nil {
				return err
			}
			shown := len(local.GetAnnotations())
			if r, is := local.(*gatewayv1.HTTPRoute); is {
				shown = len(r.Status.Parents)
			}
			if shown != i+1 {
				return fmt.Errorf("%d providers have told something", shown)
			}
			return nil
		})
	}
	must(t, admin.Delete(ctx, local))
	s.eventually(t, "the remote "+kind.resource+" to be gone", func(ctx context.Context) error {
		for _, provider := range s.Providers {
			if err := gone(ctx, provider.Admin, kind.fresh(remoteNamespace(inRestart), "shop")); err != nil {
				return err
			}
		}
		return nil
	})
}

// liveThrough creates, changes and deletes one object. Spillway must not write on it in the consumer.
func (s *setup) liveThrough(t *testing.T, kind mapped) {
	ctx, admin := t.Context(), s.Consumer.Admin
	local := kind.fresh(rig.Namespace(inRestart).GetName(), "front")
	must(t, admin.Create(ctx, local))
	created := local.GetResourceVersion()
	s.eventually(t, "the remote "+kind.resource, s.copied(kind, local))
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(local), local))
	if local.GetResourceVersion() != created && kind.resource != budgets.resource { // The disruption controller writes their status.
		t.Errorf("somebody has written on it: %v", local.GetManagedFields())
	}
	kind.change(local)
	must(t, admin.Update(ctx, local))
	s.eventually(t, "the remote "+kind.resource+" to be changed", s.copied(kind, local))
	must(t, admin.Delete(ctx, local))
	s.eventually(t, "the remote "+kind.resource+" to be gone", func(ctx context.Context) error {
		for _, provider := range s.Providers {
			if err := gone(ctx, provider.Admin, kind.fresh(remoteNamespace(inRestart), "front")); err != nil {
				return err
			}
		}
		return nil
	})
}

// copied returns a check that both remote objects show what the local one shows.
func (s *setup) copied(kind mapped, local client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, provider := range s.Providers {
			remote := kind.fresh(remoteNamespace(inRestart), local.GetName())
			if err := provider.Admin.Get(ctx, client.ObjectKeyFromObject(remote), remote); err != nil {
				return err
			}
			if is := kind.shows(remote); is != kind.shows(local) {
				return fmt.Errorf("%s in %s, want %s", is, provider.ID, kind.shows(local))
			}
		}
		return nil
	}
}

func newService(namespace, name string) client.Object {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// newBalanced returns a Service with a load balancer in the providers.
func newBalanced(namespace, name string) client.Object {
	service := newService(namespace, name).(*corev1.Service)
	service.Spec.Type, service.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, ptr.To(samples.Balancer)
	return service
}

// newIngress returns an Ingress of a class that is mapped.
func newIngress(namespace, name string) client.Object {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       networkingv1.IngressSpec{IngressClassName: ptr.To(samples.IngressClass), Rules: []networkingv1.IngressRule{{Host: "a." + samples.Domain}}},
	}
}

// newRoute returns a route at a Gateway that is mapped.
func newRoute(namespace, name string) client.Object {
	return samples.HTTPRoute(namespace, name, "").Object
}

// newEndpointSlice returns an EndpointSlice for a Service without a selector.
func newEndpointSlice(namespace, name string) client.Object {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
	}
}

// newNetworkPolicy returns a policy that selects all pods of its namespace.
func newNetworkPolicy(namespace, name string) client.Object {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}},
	}
}

// newBudget returns a budget that counts no pods.
func newBudget(namespace, name string) client.Object {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		},
	}
}
