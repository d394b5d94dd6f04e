// Package service sends the Services of offloaded namespaces.
package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services/status,verbs=patch

// most is how many Services of one namespace are sent. Each uses one of the provider's addresses for Services,
// and rules on each of its nodes. A cluster has some thousands of these addresses for all its users. Pods also
// get environment variables for each Service.
const most = 1000

// Kind is the kind of Services.
func Kind() kind.Kind[*corev1.Service] {
	services := kind.NewCopy[corev1.Service, corev1.ServiceList]("service", kind.InMappedNamespace, translation{})
	services.Resource, services.Never, services.Most, services.Trim = v1alpha1.OffloadedServices, isAPIServer, most, trim
	return services
}

// isAPIServer reports whether a Service belongs to the consumer's own API server. It has no selector, so it
// would lead nowhere in a provider, and every pod of its namespace would look for the API server there.
func isAPIServer(local types.NamespacedName) bool {
	return local == types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: "kubernetes"}
}

type translation struct{ kind.Namespaced }

var (
	_ decide.Noticing[*corev1.Service]  = translation{}
	_ decide.Reporting[*corev1.Service] = translation{}
)

// Remote implements decide.Translation.
func (translation) Remote(local *corev1.Service, t field.Target, around decide.Inputs) (*corev1.Service, *field.Problem) {
	return toRemote(local, t, around.Limits, around.Classes)
}

// Merge implements decide.Translation.
func (translation) Merge(desired, remote *corev1.Service) (*corev1.Service, bool) {
	return merge(desired, remote)
}

// Notice implements decide.Noticing.
func (translation) Notice(local, _ *corev1.Service, around decide.Inputs) *field.Problem {
	return serviceNotice(local, around.Limits, around.Classes)
}

// Report implements decide.Reporting: the addresses of the load balancer.
func (translation) Report(local, remote *corev1.Service, clusterID string, around decide.Inputs) (*corev1.Service, *field.Problem) {
	var reported []string
	if remote != nil && balanced(local, around.Limits, around.Classes) {
		for _, entry := range remote.Status.LoadBalancer.Ingress {
			reported = append(reported, entry.IP, entry.Hostname)
		}
	}
	return decide.WithAddresses(local, clusterID, reported, "load balancer", around)
}
