// Package samples has a sample of each kind that is sent to providers: an object, and changes of it. The tests
// in test/kinds check the same promises for all kinds, and know nothing else about a kind.
package samples

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// New returns a sample. namespace is offloaded to the provider of node, which is a virtual node.
type New[T client.Object] func(namespace, name, node string) Sample[T]

// Of has the sample of each kind, by the kind's name.
var Of = map[string]New[client.Object]{
	"pod":                   untyped(pod),
	"configmap":             untyped(configMap),
	"secret":                untyped(secret),
	"persistentvolumeclaim": untyped(persistentVolumeClaim),
	"persistentvolume":      untyped(persistentVolume),
	"service":               untyped(service),
	"networkpolicy":         untyped(networkPolicy),
	"endpointslice":         untyped(endpointSlice),
	"poddisruptionbudget":   untyped(podDisruptionBudget),
	"ingress":               untyped(ingress),
	"httproute":             untyped(HTTPRoute),
	"grpcroute":             untyped(grpcRoute),
}

// Sample is an object of a kind, with changes.
type Sample[T client.Object] struct {
	// Object is what its owner creates.
	Object T
	// With are created after Object, in this order: the objects that cause it to be sent, and those that it
	// needs.
	With []client.Object
	// Shows returns the part of an object that is the same in both clusters.
	Shows func(T) string
	// Change is a change by the owner that must arrive in the provider.
	Change func(local T)
	// Drift is a change by somebody in the provider that Spillway must correct.
	Drift func(remote T)
	// Hostile writes a word to every part of a remote object, status included, that a provider may write and
	// that must not reach the consumer.
	Hostile func(remote T, word string)
	// Report, if set, is a change of the status in the provider that must reach the consumer. Reported
	// returns the part of an object that shows it.
	Report   func(remote T)
	Reported func(T) string
	// Lost, if set, reports whether a local object says that somebody else deleted the remote one. If it is
	// not set, the remote object is recreated.
	Lost func(local T) bool
}

// untyped returns the samples of a kind as samples of any object.
func untyped[T client.Object](create New[T]) New[client.Object] {
	return func(namespace, name, node string) Sample[client.Object] {
		s := create(namespace, name, node)
		return Sample[client.Object]{
			Object: s.Object, With: s.With,
			Shows: result(s.Shows), Change: change(s.Change), Drift: change(s.Drift),
			Hostile: func(remote client.Object, word string) { s.Hostile(remote.(T), word) },
			Report:  change(s.Report), Reported: result(s.Reported), Lost: result(s.Lost),
		}
	}
}

func result[T client.Object, R any](f func(T) R) func(client.Object) R {
	if f == nil {
		return nil
	}
	return func(obj client.Object) R { return f(obj.(T)) }
}

func change[T client.Object](f func(T)) func(client.Object) {
	if f == nil {
		return nil
	}
	return func(obj client.Object) { f(obj.(T)) }
}

// Balancer is the class of load balancers in samples, and IngressClass the class of Ingresses. Domain is the
// parent domain of all hosts, gateway the Gateway of routes, and cidr the range of all addresses.
const (
	Balancer     = "example.com/balancer"
	IngressClass = "example"
	Domain       = "sample.example.com"
	gateway      = "gateways/example"
	cidr         = "192.0.2.0/24"
)

// Limits are the limits for samples in the providers of tests.
var Limits = map[string]string{
	"endpointCIDRs": cidr, "loadBalancerClasses": Balancer, "ingressClasses": IngressClass, "gateways": gateway, "ingressHosts": "*." + Domain,
}

// Classes returns the classes that the ClusterBindings of tests map. Each maps to the same name.
func Classes() []v1alpha1.ClassMapping {
	return []v1alpha1.ClassMapping{
		{Kind: v1alpha1.ClassLoadBalancer, Name: Balancer, RemoteName: Balancer},
		{Kind: v1alpha1.ClassIngress, Name: IngressClass, RemoteName: IngressClass},
		{Kind: v1alpha1.ClassGateway, Name: gateway, RemoteName: gateway},
	}
}
