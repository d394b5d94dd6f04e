// Package endpointslice sends the EndpointSlices of offloaded namespaces.
package endpointslice

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch

// most is how many EndpointSlices of one namespace are sent: for as many Services as are
// sent, with one for each family of addresses.
const most = 2000

// Kind is the kind of EndpointSlices. They go where Services go.
func Kind() kind.Kind[*discoveryv1.EndpointSlice] {
	slices := kind.NewCopy[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList]("endpointslice", kind.InMappedNamespace, translation{})
	slices.Resource, slices.Never, slices.Most, slices.Trim = v1alpha1.OffloadedServices, isAPIServer, most, trim
	slices.Paced = true // A roll of 500 pods changes them 500 times.
	slices.Labels = map[string]string{discoveryv1.LabelManagedBy: EndpointSliceManager}
	return slices
}

// isAPIServer reports whether an EndpointSlice has the addresses of the consumer's own API
// server, whose Service is not sent.
func isAPIServer(local types.NamespacedName) bool {
	return local == types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: "kubernetes"}
}

type translation struct{ kind.Namespaced }

var (
	_ decide.Choosing[*discoveryv1.EndpointSlice] = translation{}
	_ decide.Noticing[*discoveryv1.EndpointSlice] = translation{}
)

// Choose implements decide.Choosing. The provider itself lists the selected pods that run there. Slices of
// other pods are useful there only if the networks are routed.
func (translation) Choose(local *discoveryv1.EndpointSlice, reach network.Reach, around decide.Inputs) (goes, known bool) {
	if !isOfSelectedPods(local) {
		return true, true
	}
	return len(reach.Ranges) > 0 && hasEndpointsElsewhere(local, around.Node), !reach.Pending
}

// Remote implements decide.Translation.
func (translation) Remote(local *discoveryv1.EndpointSlice, t field.Target, around decide.Inputs) (*discoveryv1.EndpointSlice, *field.Problem) {
	return toRemote(local, t, around.Limits, around.Node)
}

// Merge implements decide.Translation.
func (translation) Merge(desired, remote *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, bool) {
	return merge(desired, remote)
}

// Notice implements decide.Noticing.
func (translation) Notice(_, remote *discoveryv1.EndpointSlice, _ decide.Inputs) *field.Problem {
	if said := field.LeftOut(remote); said != "" {
		return &field.Problem{Reason: ReasonAddressesLeftOut, Message: said}
	}
	return nil
}
