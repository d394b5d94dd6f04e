// Package ingress sends the Ingresses of offloaded namespaces whose class the ClusterBinding maps.
package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses/status,verbs=patch

// most is how many Ingresses of one namespace are sent. A controller of the provider builds one configuration
// from all that it serves.
const most = 500

// Kind is the kind of Ingresses.
func Kind() kind.Kind[*networkingv1.Ingress] {
	ingresses := kind.NewCopy[networkingv1.Ingress, networkingv1.IngressList]("ingress", kind.InMappedNamespace, translation{})
	ingresses.Most, ingresses.Needs, ingresses.Accepts, ingresses.Trim = most, needs, accepts, trim
	return ingresses
}

// needs returns the Secrets with the certificates. None is required.
func needs(local *networkingv1.Ingress) []decide.Ref {
	var refs []decide.Ref
	for _, name := range ingressSecrets(local) {
		key := decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Namespace: local.Namespace, Name: name}}
		refs = append(refs, decide.Ref{Key: key, Optional: true})
	}
	return refs
}

// accepts reports whether an Ingress is sent, and so what it needs. Without limits, none is sent. The answer is
// unknown until the provider has answered whether it has the class.
func accepts(local *networkingv1.Ingress, around decide.Inputs) (accepted, known bool) {
	if around.Limits == nil || around.Limits.Unknown != nil ||
		ingressRefusal(local, around.TargetFor(local.Namespace), around.Limits, around.Classes, around.Hosts) != nil {
		return false, true
	}
	refusal := ingressClassRefusal(local, around.Classes, around.Has)
	return refusal == nil, refusal == nil || isMissing(refusal)
}

// isMissing reports whether an Ingress is refused because the provider has no such class.
func isMissing(refusal *field.Problem) bool {
	return refusal != nil && refusal.Reason == v1alpha1.ReasonClassMissing
}

type translation struct{ kind.Namespaced }

var (
	_ decide.Choosing[*networkingv1.Ingress]  = translation{}
	_ decide.Keeping                          = translation{}
	_ decide.Reporting[*networkingv1.Ingress] = translation{}
)

// Choose implements decide.Choosing. Spillway ignores Ingresses of a class that no ClusterBinding maps. Nothing
// is decided until the provider has said whether it has the class.
func (translation) Choose(local *networkingv1.Ingress, _ network.Reach, around decide.Inputs) (goes, known bool) {
	class := local.Spec.IngressClassName
	if class == nil {
		return false, true
	}
	_, mapped := around.Classes.Of(v1alpha1.ClassIngress, *class)
	refusal := ingressClassRefusal(local, around.Classes, around.Has)
	return mapped || around.Maps(v1alpha1.ClassIngress, *class), refusal == nil || isMissing(refusal)
}

// Remote implements decide.Translation. A copy that is kept without its class follows: who takes an
// Ingress from one class to another wants to leave the first.
func (translation) Remote(local *networkingv1.Ingress, t field.Target, around decide.Inputs) (*networkingv1.Ingress, *field.Problem) {
	remote, refusal := toRemote(local, t, around.Limits, around.Classes, around.Hosts)
	if refusal == nil {
		refusal = ingressClassRefusal(local, around.Classes, around.Has)
	}
	return remote, refusal
}

// Keeps implements decide.Keeping: a class that is missing for a moment removes no copy and no address. Remote
// checks first what removes a copy.
func (translation) Keeps(refusal *field.Problem) bool { return isMissing(refusal) }

// Merge implements decide.Translation.
func (translation) Merge(desired, remote *networkingv1.Ingress) (*networkingv1.Ingress, bool) {
	return merge(desired, remote), false
}

// Report implements decide.Reporting: the addresses of the Ingress.
func (translation) Report(local, remote *networkingv1.Ingress, clusterID string, around decide.Inputs) (*networkingv1.Ingress, *field.Problem) {
	var reported []string
	if remote != nil {
		for _, entry := range remote.Status.LoadBalancer.Ingress {
			reported = append(reported, entry.IP, entry.Hostname)
		}
	}
	return decide.WithAddresses(local, clusterID, reported, "Ingress", around)
}
