package oracle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// The kinds that belong to the state. Leases and events do not: they change periodically.
var (
	inBoth = []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("namespaces"),
		corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithResource("configmaps"),
		corev1.SchemeGroupVersion.WithResource("secrets"),
		corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"),
		corev1.SchemeGroupVersion.WithResource("persistentvolumes"),
		corev1.SchemeGroupVersion.WithResource("services"),
		networkingv1.SchemeGroupVersion.WithResource("networkpolicies"),
		discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
		policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"),
		networkingv1.SchemeGroupVersion.WithResource("ingresses"),
		schema.GroupVersion(gatewayv1.GroupVersion).WithResource("httproutes"),
		schema.GroupVersion(gatewayv1.GroupVersion).WithResource("grpcroutes"),
	}
	inConsumer = append(slices.Clone(inBoth),
		corev1.SchemeGroupVersion.WithResource("nodes"),
		schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"), // Some are imported.
		v1alpha1.GroupVersion.WithResource("clusterbindings"),
		v1alpha1.GroupVersion.WithResource("namespacemaps"),
		v1alpha1.GroupVersion.WithResource("namespaceoffloadings"),
	)
)

func kindsOf(cluster string) []schema.GroupVersionResource {
	if cluster == Consumer {
		return inConsumer
	}
	return inBoth
}

// systemNamespace reports whether no scenario uses the namespace: it is one of Kubernetes or the manager's
// own.
func systemNamespace(name string) bool {
	return name == corev1.NamespaceDefault || strings.HasPrefix(name, "kube-") ||
		name == "spillway-system" || name == "spillway-provider"
}

// relevant reports whether to record an object. The kube-system namespace is recorded because its UID
// identifies the cluster.
func relevant(obj *unstructured.Unstructured) bool {
	switch obj.GetKind() {
	case "Namespace":
		return obj.GetName() == "kube-system" || !systemNamespace(obj.GetName())
	case "ConfigMap":
		return obj.GetName() != "kube-root-ca.crt" && !systemNamespace(obj.GetNamespace())
	case "Secret":
		kind, _, _ := unstructured.NestedString(obj.Object, "type")
		return kind != string(corev1.SecretTypeServiceAccountToken) && !systemNamespace(obj.GetNamespace())
	default:
		return obj.GetNamespace() == "" || !systemNamespace(obj.GetNamespace())
	}
}
