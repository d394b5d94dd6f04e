package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Reasons why an Ingress is not sent; see IngressRefusal.
const (
	// ReasonClassNotAllowed: the provider does not list the class of the Ingress, or the Gateway of the
	// route.
	ReasonClassNotAllowed = "ClassNotAllowed"
	// ReasonResourceBackend: a backend of the Ingress is not a Service.
	ReasonResourceBackend = "ResourceBackend"
	// ReasonRouteTooLarge: the Ingress has too many hosts and paths, or the route takes too much
	// memory, to be cached.
	ReasonRouteTooLarge = "RouteTooLarge"
	// ReasonAnnotationWithheld: the provider does not allow an annotation that may restrict who can use
	// the Ingress or route.
	ReasonAnnotationWithheld = "AnnotationWithheld"
)

// harmlessAnnotations are domains of annotations in which the consumer's tools keep notes. Some tools
// create certificates and DNS records from them. Without these annotations, an Ingress is as closed as
// before.
var harmlessAnnotations = []string{
	"acme.cert-manager.io/", "argocd.argoproj.io/", "cert-manager.io/", "external-dns.alpha.kubernetes.io/", "helm.sh/", "helm.toolkit.fluxcd.io/",
	"kustomize.toolkit.fluxcd.io/", "meta.helm.sh/",
}

// IngressRefusal says why an Ingress is not sent to a target with these limits and classes, or returns
// nil. hosts are the patterns in the ClusterBinding. If there are none, all hosts count that the
// provider allows.
func IngressRefusal(local *networkingv1.Ingress, t Target, limits *Limits, classes Classes, hosts HostPatterns) *field.Problem {
	class := ptr.Deref(local.Spec.IngressClassName, "")
	remote, mapped := classes.Of(v1alpha1.ClassIngress, class)
	switch {
	case !mapped:
		return field.Refuse(v1alpha1.ReasonClassNotMapped, "spec.ingressClassName: the ClusterBinding does not map IngressClass %q; ask the platform engineer to add it to spec.classes", class)
	case limits == nil || !listsOrAll(limits.IngressClasses, remote):
		return field.Refuse(ReasonClassNotAllowed, "spec.ingressClassName: the provider does not allow the class %s (%s in ConfigMap spillway-provider/limits)", remote, limitIngressClasses)
	case MetadataTooLarge(local, limits) != nil: // Its annotations are not cached.
		return MetadataTooLarge(local, limits)
	case isCutIngress(local):
		return field.Refuse(ReasonRouteTooLarge, "it has more than %d rules and hosts of spec.tls, %d paths, or %d KiB of them: split it up", mostIngressHosts, mostIngressPaths, mostIngressText>>10)
	}
	if refusal := neverSynced("Ingress", local); refusal != nil {
		return refusal
	}
	if refusal := backendRefusal(&local.Spec); refusal != nil {
		return refusal
	}
	if refusal := hostRefusal(ingressHosts(&local.Spec), hosts, HostsFor(limits.IngressHosts, t.Mark.Account)); refusal != nil {
		return refusal
	}
	return annotationRefusal(local, "the Ingress", limits)
}

// Ingress returns the remote Ingress of local, or IngressRefusal. It does not send the annotation
// kubernetes.io/ingress.class, which controllers prefer to the class.
func Ingress(local *networkingv1.Ingress, t Target, limits *Limits, classes Classes, hosts HostPatterns) (*networkingv1.Ingress, *field.Problem) {
	if refusal := IngressRefusal(local, t, limits, classes, hosts); refusal != nil {
		return nil, refusal
	}
	allowed := ingressSpecPlan.allowed(&local.Spec)
	spec := allowed.DeepCopy()
	class, _ := classes.Of(v1alpha1.ClassIngress, *local.Spec.IngressClassName)
	spec.IngressClassName = &class
	return &networkingv1.Ingress{ObjectMeta: Metadata(local, t), Spec: *spec}, nil
}

// annotationRefusal returns a problem for the first annotation that the provider does not allow. An
// annotation may make a controller check who a client is, or where it comes from. Without it, a route
// that is closed in the consumer would be open in the provider.
func annotationRefusal(local metav1.Object, what string, limits *Limits) *field.Problem {
	for _, key := range slices.Sorted(maps.Keys(local.GetAnnotations())) {
		domain, _, _ := strings.Cut(key, "/")
		if isCopiedAnnotation(key) && !limits.Sends(key) && !slices.Contains(harmlessAnnotations, domain+"/") {
			return field.Refuse(ReasonAnnotationWithheld,
				"metadata.annotations[%s]: the provider does not allow it (%s, %s in ConfigMap spillway-provider/limits), and without it %s may admit more clients there",
				key, limitMetadataKeys, limitReservedKeys, what)
		}
	}
	return nil
}

// backendRefusal returns a problem for the first backend that is not a Service.
func backendRefusal(spec *networkingv1.IngressSpec) *field.Problem {
	if spec.DefaultBackend != nil {
		if found := ingressBackendPlan.violation(spec.DefaultBackend, PodSecurityBaseline); found != nil {
			return found.refusal("spec.defaultBackend")
		}
	}
	for i := range spec.Rules {
		if spec.Rules[i].HTTP == nil {
			continue
		}
		for j := range spec.Rules[i].HTTP.Paths {
			if found := ingressBackendPlan.violation(&spec.Rules[i].HTTP.Paths[j].Backend, PodSecurityBaseline); found != nil {
				return found.refusal(fmt.Sprintf("spec.rules[%d].http.paths[%d].backend", i, j))
			}
		}
	}
	return nil
}

// ingressHosts returns the hosts of an Ingress. A rule or certificate without a host, and the default
// backend, are for every host.
func ingressHosts(spec *networkingv1.IngressSpec) []routedHost {
	var all []routedHost
	if spec.DefaultBackend != nil {
		all = append(all, routedHost{"spec.defaultBackend", All})
	}
	for i := range spec.Rules {
		all = append(all, routedHost{fmt.Sprintf("spec.rules[%d].host", i), cmp.Or(spec.Rules[i].Host, All)})
	}
	for i := range spec.TLS {
		if len(spec.TLS[i].Hosts) == 0 {
			all = append(all, routedHost{fmt.Sprintf("spec.tls[%d].hosts", i), All})
		}
		for j, host := range spec.TLS[i].Hosts {
			all = append(all, routedHost{fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j), host})
		}
	}
	return all
}

// IngressSecrets returns the names of the Secrets with an Ingress's certificates, sorted, each once.
// None of them has to exist: controllers that create certificates learn from the Ingress which ones to
// create.
func IngressSecrets(local *networkingv1.Ingress) []string {
	var names []string
	for i := range local.Spec.TLS {
		if name := local.Spec.TLS[i].SecretName; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// MergeIngress returns remote with the spec of desired, which Ingress made.
func MergeIngress(desired, remote *networkingv1.Ingress) *networkingv1.Ingress {
	merged := Merged(desired, remote)
	merged.Spec = desired.Spec
	return merged
}

// Limits for an Ingress in a cache. An API server limits none of these, and the provider's policy
// compares each host with each pattern.
const (
	mostIngressHosts = 200
	mostIngressPaths = 1000
	mostIngressText  = 64 << 10 // In bytes, for hosts, paths and names.
)

// CutIngress empties the spec of an Ingress that is too large for the cache. It keeps the class, which
// decides who serves the Ingress. It does so, too, if the labels and annotations are oversized: otherwise
// the Secrets of an Ingress that is not sent would be sent. A second call changes nothing.
func CutIngress(ingress *networkingv1.Ingress, oversized bool) {
	spec := &ingress.Spec
	hosts, paths, text := len(spec.Rules), 0, 0
	for i := range spec.TLS {
		hosts += max(1, len(spec.TLS[i].Hosts))
		text += len(spec.TLS[i].SecretName)
		for _, host := range spec.TLS[i].Hosts {
			text += len(host)
		}
	}
	for i := range spec.Rules {
		text += len(spec.Rules[i].Host)
		if spec.Rules[i].HTTP == nil {
			continue
		}
		paths += len(spec.Rules[i].HTTP.Paths)
		for j := range spec.Rules[i].HTTP.Paths {
			text += len(spec.Rules[i].HTTP.Paths[j].Path)
		}
	}
	if oversized || hosts > mostIngressHosts || paths > mostIngressPaths || text > mostIngressText {
		ingress.Spec = networkingv1.IngressSpec{IngressClassName: spec.IngressClassName}
	}
}

// isCutIngress reports whether CutIngress emptied an Ingress. No API server accepts an Ingress with
// neither a rule nor a default backend.
func isCutIngress(ingress *networkingv1.Ingress) bool {
	return len(ingress.Spec.Rules) == 0 && ingress.Spec.DefaultBackend == nil
}
