package translate

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/address"
)

// ReasonAddressRefused: a Service or an Ingress has an address in the provider that is not
// shown here.
const ReasonAddressRefused = "AddressRefused"

// mostAddresses limits the addresses in a status. Annotations, which anybody who may edit the
// object can write, bring them.
const mostAddresses = 256

// Addressed is a Service or an Ingress.
type Addressed interface {
	comparable
	metav1.Object
	runtime.Object
}

// WithAddresses is a Service or an Ingress of the consumer with the addresses and hostnames
// that it has in the provider of a clusterID, in an annotation and among those of all providers
// in its status; local itself if nothing differs. own reports whether an address is one of the
// consumer's own; nothing else of the status is touched.
func WithAddresses[T Addressed](local T, clusterID string, addresses []string, own func(netip.Addr) bool) T {
	if _, had := local.GetAnnotations()[v1alpha1.AnnotationAddressesPrefix+clusterID]; !had && len(addresses) == 0 {
		return local
	}
	changed, _ := local.DeepCopyObject().(T)
	changed.SetAnnotations(address.Annotate(changed.GetAnnotations(), clusterID, addresses))
	all := address.All(changed.GetAnnotations(), own)
	all = all[:min(len(all), mostAddresses)]
	switch object := any(changed).(type) {
	case *corev1.Service:
		if HasClass(object) { // Of another one the API server has emptied the status, or a cloud writes it.
			object.Status.LoadBalancer.Ingress = ofService(all)
		}
	case *networkingv1.Ingress:
		if len(addresses) > 0 {
			object.Status.LoadBalancer.Ingress = ofIngress(all)
			break
		}
		// It may have a class by now that a controller at home serves, whose addresses stay.
		were := address.All(local.GetAnnotations(), own)
		object.Status.LoadBalancer.Ingress = slices.DeleteFunc(object.Status.LoadBalancer.Ingress, func(i networkingv1.IngressLoadBalancerIngress) bool {
			shown := cmp.Or(i.IP, i.Hostname)
			return slices.Contains(were, shown) && !slices.Contains(all, shown)
		})
	}
	if equality.Semantic.DeepEqual(changed, local) {
		return local
	}
	return changed
}

// ofService are addresses and hostnames in a status. With ipMode Proxy, kube-proxy does not
// capture the traffic to an address.
func ofService(addresses []string) []corev1.LoadBalancerIngress {
	var all []corev1.LoadBalancerIngress
	for _, entry := range addresses {
		ingress := corev1.LoadBalancerIngress{Hostname: entry}
		if isIP(entry) {
			ingress = corev1.LoadBalancerIngress{IP: entry, IPMode: ptr.To(corev1.LoadBalancerIPModeProxy)}
		}
		all = append(all, ingress)
	}
	return all
}

func ofIngress(addresses []string) []networkingv1.IngressLoadBalancerIngress {
	var all []networkingv1.IngressLoadBalancerIngress
	for _, entry := range addresses {
		if isIP(entry) {
			all = append(all, networkingv1.IngressLoadBalancerIngress{IP: entry})
		} else {
			all = append(all, networkingv1.IngressLoadBalancerIngress{Hostname: entry})
		}
	}
	return all
}

func isIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}
