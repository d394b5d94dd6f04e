package offload

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// traffic notes that Services of the namespace send nothing to pods in some providers, or that this is not known. It is
// only for the output, so failing to read is no error. Teams may not read ClusterBindings.
func traffic(ctx context.Context, consumer *cli.Cluster, output *cli.Output, offloading *v1alpha1.NamespaceOffloading) {
	bindings, services, ingresses := &v1alpha1.ClusterBindingList{}, &corev1.ServiceList{}, &networkingv1.IngressList{}
	within := client.InNamespace(offloading.Namespace)
	if consumer.List(ctx, services, within) != nil || consumer.List(ctx, ingresses, within) != nil {
		return
	}
	note := ""
	switch err := consumer.List(ctx, bindings); {
	case err == nil:
		note = unreached(offloading, bindings.Items, services.Items, ingresses.Items)
	case apierrors.IsForbidden(err):
		note = unknown(offloading, services.Items, ingresses.Items)
	}
	if note != "" {
		output.Say("note: %s", note)
	}
}

const whoReachesWhom = "docs/applications.md, who reaches whom"

// unknown says that a user who may not read ClusterBindings learns elsewhere whether Services reach the pods.
func unknown(offloading *v1alpha1.NamespaceOffloading, services []corev1.Service, ingresses []networkingv1.Ingress) string {
	senders := senders(services, ingresses, nil)
	if len(senders) == 0 || offloading.Spec.PodOffloadingStrategy == v1alpha1.PodsLocal {
		return ""
	}
	return fmt.Sprintf("these may send nothing to pods in providers: %s; you may not read the ClusterBindings, which say it, but kubectl spillway explain POD says it of each pod that runs there; %s",
		text.Few(senders, most), whoReachesWhom)
}

// unreached says which Services and Ingresses send nothing to the pods in which providers; "" if none.
func unreached(offloading *v1alpha1.NamespaceOffloading, bindings []v1alpha1.ClusterBinding, services []corev1.Service, ingresses []networkingv1.Ingress) string {
	if offloading.Spec.PodOffloadingStrategy == v1alpha1.PodsLocal {
		return ""
	}
	var isolated, mapped []string
	for i := range bindings {
		spec := &bindings[i].Spec
		if namespaceoffloading.Selects(offloading, &bindings[i]) && spec.Network.Mode != v1alpha1.NetworkRouted {
			isolated = append(isolated, spec.ClusterID)
		}
		for _, class := range spec.Classes {
			if class.Kind == v1alpha1.ClassIngress {
				mapped = append(mapped, class.Name)
			}
		}
	}
	senders := senders(services, ingresses, mapped)
	if len(isolated) == 0 || len(senders) == 0 {
		return ""
	}
	return fmt.Sprintf("no route leads to pods in %s (spec.network.mode of the ClusterBinding is Isolated), so in this cluster these send them nothing: %s; "+
		"%s, says how users reach such pods", strings.Join(isolated, ", "), text.Few(senders, most), whoReachesWhom)
}

// most is how many Services and Ingresses a note names.
const most = 5

// senders returns the Services that select pods, and the Ingresses that are served here. Those of a class that a binding
// maps are served in the provider.
func senders(services []corev1.Service, ingresses []networkingv1.Ingress, mapped []string) []string {
	var all []string
	for i := range services {
		if len(services[i].Spec.Selector) > 0 {
			all = append(all, "Service "+services[i].Name)
		}
	}
	for i := range ingresses {
		if class := ingresses[i].Spec.IngressClassName; class == nil || !slices.Contains(mapped, *class) {
			all = append(all, "Ingress "+ingresses[i].Name)
		}
	}
	return all
}
