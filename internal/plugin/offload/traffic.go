package offload

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// traffic notes that Services of the namespace send nothing to pods in some providers. It is only for the output, so
// failing to read is no error. Users may lack the right.
func traffic(ctx context.Context, consumer *cli.Cluster, output *cli.Output, offloading *v1alpha1.NamespaceOffloading) {
	bindings, services, ingresses := &v1alpha1.ClusterBindingList{}, &corev1.ServiceList{}, &networkingv1.IngressList{}
	within := client.InNamespace(offloading.Namespace)
	if consumer.List(ctx, bindings) != nil || consumer.List(ctx, services, within) != nil || consumer.List(ctx, ingresses, within) != nil {
		return
	}
	if note := unreached(offloading, bindings.Items, services.Items, ingresses.Items); note != "" {
		output.Say("note: %s", note)
	}
}

// unreached says which Services and Ingresses send nothing to the pods in which providers; "" if none. Ingresses of a
// class that a binding maps are served in the provider.
func unreached(offloading *v1alpha1.NamespaceOffloading, bindings []v1alpha1.ClusterBinding, services []corev1.Service, ingresses []networkingv1.Ingress) string {
	if offloading.Spec.PodOffloadingStrategy == v1alpha1.PodsLocal {
		return ""
	}
	var isolated, what, mapped []string
	state := status.StateOf(offloading)
	for i := range bindings {
		spec := &bindings[i].Spec
		if remote := state.In(spec.ClusterID); remote != nil && remote.Ready && spec.Network.Mode != v1alpha1.NetworkRouted {
			isolated = append(isolated, spec.ClusterID)
		}
		for _, class := range spec.Classes {
			if class.Kind == v1alpha1.ClassIngress {
				mapped = append(mapped, class.Name)
			}
		}
	}
	for i := range services {
		if len(services[i].Spec.Selector) > 0 {
			what = append(what, "Service "+services[i].Name)
		}
	}
	for i := range ingresses {
		if class := ingresses[i].Spec.IngressClassName; class == nil || !slices.Contains(mapped, *class) {
			what = append(what, "Ingress "+ingresses[i].Name)
		}
	}
	if len(isolated) == 0 || len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("no route leads to pods in %s (spec.network.mode of the ClusterBinding is Isolated), so in this cluster these send them nothing: %s; "+
		"docs/applications.md, who reaches whom, says how users reach such pods", strings.Join(isolated, ", "), few(what))
}

// few names the first of many things.
func few(all []string) string {
	const most = 5
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(all[:most], ", "), len(all)-most)
}
