package ingress

import (
	"cmp"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Reasons why an Ingress is not sent; see ingressRefusal.
const (
	// ReasonResourceBackend: a backend of the Ingress is not a Service.
	ReasonResourceBackend = "ResourceBackend"
)

// ingressRefusal says why an Ingress is not sent to a target with these limits and classes, or returns
// nil. hosts are the patterns in the ClusterBinding. If there are none, all hosts count that the
// provider allows.
func ingressRefusal(local *networkingv1.Ingress, t field.Target, limits *field.Limits, classes field.Classes, hosts field.HostPatterns) *field.Problem {
	class := ptr.Deref(local.Spec.IngressClassName, "")
	remote, mapped := classes.Of(v1alpha1.ClassIngress, class)
	switch {
	case !mapped:
		return field.Refuse(v1alpha1.ReasonClassNotMapped, "spec.ingressClassName: the ClusterBinding does not map IngressClass %q; ask the platform engineer to add it to spec.classes", class)
	case limits == nil || !field.ListsOrAll(limits.IngressClasses, remote):
		return field.Refuse(field.ReasonClassNotAllowed, "spec.ingressClassName: the provider does not allow the class %s (%s in ConfigMap spillway-provider/limits)", remote, field.LimitIngressClasses)
	case field.MetadataTooLarge(local, limits) != nil: // Its annotations are not cached.
		return field.MetadataTooLarge(local, limits)
	case isCutIngress(local):
		return field.Refuse(field.ReasonRouteTooLarge, "it has more than %d rules and hosts of spec.tls, %d paths, or %d KiB of them: split it up", mostIngressHosts, mostIngressPaths, mostIngressText>>10)
	}
	if refusal := field.NeverSynced("Ingress", local); refusal != nil {
		return refusal
	}
	if refusal := backendRefusal(&local.Spec); refusal != nil {
		return refusal
	}
	if refusal := field.HostRefusal(ingressHosts(&local.Spec), hosts, field.HostsFor(limits.IngressHosts, t.Mark.Account)); refusal != nil {
		return refusal
	}
	return field.AnnotationRefusal(local, "the Ingress", limits)
}

// toRemote returns the remote Ingress of local, or ingressRefusal. It does not send the annotation
// kubernetes.io/ingress.class, which controllers prefer to the class.
func toRemote(local *networkingv1.Ingress, t field.Target, limits *field.Limits, classes field.Classes, hosts field.HostPatterns) (*networkingv1.Ingress, *field.Problem) {
	if refusal := ingressRefusal(local, t, limits, classes, hosts); refusal != nil {
		return nil, refusal
	}
	allowed := ingressSpecPlan.Allowed(&local.Spec)
	spec := allowed.DeepCopy()
	class, _ := classes.Of(v1alpha1.ClassIngress, *local.Spec.IngressClassName)
	spec.IngressClassName = &class
	return &networkingv1.Ingress{ObjectMeta: field.Metadata(local, t), Spec: *spec}, nil
}

// backendRefusal returns a problem for the first backend that is not a Service.
func backendRefusal(spec *networkingv1.IngressSpec) *field.Problem {
	if spec.DefaultBackend != nil {
		if found := ingressBackendPlan.Violation(spec.DefaultBackend, field.PodSecurityBaseline); found != nil {
			return found.Refusal("spec.defaultBackend")
		}
	}
	for i := range spec.Rules {
		if spec.Rules[i].HTTP == nil {
			continue
		}
		for j := range spec.Rules[i].HTTP.Paths {
			if found := ingressBackendPlan.Violation(&spec.Rules[i].HTTP.Paths[j].Backend, field.PodSecurityBaseline); found != nil {
				return found.Refusal(fmt.Sprintf("spec.rules[%d].http.paths[%d].backend", i, j))
			}
		}
	}
	return nil
}

// ingressHosts returns the hosts of an Ingress. A rule or certificate without a host, and the default
// backend, are for every host.
func ingressHosts(spec *networkingv1.IngressSpec) []field.RoutedHost {
	var all []field.RoutedHost
	if spec.DefaultBackend != nil {
		all = append(all, field.RoutedHost{Field: "spec.defaultBackend", Host: field.All})
	}
	for i := range spec.Rules {
		all = append(all, field.RoutedHost{Field: fmt.Sprintf("spec.rules[%d].host", i), Host: cmp.Or(spec.Rules[i].Host, field.All)})
	}
	for i := range spec.TLS {
		if len(spec.TLS[i].Hosts) == 0 {
			all = append(all, field.RoutedHost{Field: fmt.Sprintf("spec.tls[%d].hosts", i), Host: field.All})
		}
		for j, host := range spec.TLS[i].Hosts {
			all = append(all, field.RoutedHost{Field: fmt.Sprintf("spec.tls[%d].hosts[%d]", i, j), Host: host})
		}
	}
	return all
}

// ingressSecrets returns the names of the Secrets with an Ingress's certificates, sorted, each once.
// None of them has to exist: controllers that create certificates learn from the Ingress which ones to
// create.
func ingressSecrets(local *networkingv1.Ingress) []string {
	var names []string
	for i := range local.Spec.TLS {
		if name := local.Spec.TLS[i].SecretName; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// merge returns remote with the spec of desired, which toRemote made.
func merge(desired, remote *networkingv1.Ingress) *networkingv1.Ingress {
	merged := field.Merged(desired, remote)
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

// trim empties the spec of an Ingress that is too large for the cache. It keeps the class, which
// decides who serves the Ingress. It does so, too, if the labels and annotations are oversized: otherwise
// the Secrets of an Ingress that is not sent would be sent. A second call changes nothing.
func trim(ingress *networkingv1.Ingress, oversized bool) {
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

// isCutIngress reports whether trim emptied an Ingress. No API server accepts an Ingress with
// neither a rule nor a default backend.
func isCutIngress(ingress *networkingv1.Ingress) bool {
	return len(ingress.Spec.Rules) == 0 && ingress.Spec.DefaultBackend == nil
}

// ingressClassRefusal says why an Ingress with a mapped class is not sent now, or returns nil. The
// provider may have no such class, so nothing there would serve the Ingress. Or this is not known yet.
func ingressClassRefusal(local *networkingv1.Ingress, classes field.Classes, has field.Has) *field.Problem {
	if remote, mapped := classes.Of(v1alpha1.ClassIngress, ptr.Deref(local.Spec.IngressClassName, "")); mapped {
		return field.Absent("spec.ingressClassName", v1alpha1.ClassIngress, remote, has)
	}
	return nil
}
