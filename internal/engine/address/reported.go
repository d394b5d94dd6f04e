package address

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
	"github.com/spillway-io/spillway/internal/field"
)

// ReasonAddressRefused: a Service or an Ingress has an address in the provider that the consumer does
// not show.
const ReasonAddressRefused = "AddressRefused"

// mostAddresses limits the addresses in a status. They come from annotations, which everybody can write
// who may edit the object.
const mostAddresses = 256

// Addressed is a Service or an Ingress.
type Addressed interface {
	comparable
	metav1.Object
	runtime.Object
}

// WithAddresses returns a local Service or Ingress with the addresses and hostnames that it has in a
// provider. It puts them into the annotation of that clusterID. Its status shows the addresses of all
// providers. Nothing else of the status changes.
//
// own reports whether an address is one of the consumer's own. WithAddresses returns local itself if
// nothing differs.
func WithAddresses[T Addressed](local T, clusterID string, addresses []string, own func(netip.Addr) bool) T {
	if _, had := local.GetAnnotations()[v1alpha1.AnnotationAddressesPrefix+clusterID]; !had && len(addresses) == 0 {
		return local
	}
	changed, _ := local.DeepCopyObject().(T)
	changed.SetAnnotations(Annotate(changed.GetAnnotations(), clusterID, addresses))
	all := All(changed.GetAnnotations(), own)
	all = all[:min(len(all), mostAddresses)]
	switch object := any(changed).(type) {
	case *corev1.Service:
		if field.HasClass(object) { // For others, the API server empties the status, or a cloud writes it.
			object.Status.LoadBalancer.Ingress = ofService(all)
		}
	case *networkingv1.Ingress:
		if len(addresses) > 0 {
			object.Status.LoadBalancer.Ingress = ofIngress(all)
			break
		}
		// A controller of the consumer may serve the Ingress's class by now. That controller's
		// addresses stay.
		were := All(local.GetAnnotations(), own)
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

// ofService converts addresses and hostnames to entries of a status. With ipMode Proxy, kube-proxy does
// not capture the traffic to an address.
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
