package field

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReasonClassNotAllowed: the provider does not list the class of the Ingress, or the Gateway of the
// route.
const ReasonClassNotAllowed = "ClassNotAllowed"

// ReasonRouteTooLarge: the Ingress has too many hosts and paths, or the route takes too much
// memory, to be cached.
const ReasonRouteTooLarge = "RouteTooLarge"

// ReasonAnnotationWithheld: the provider does not allow an annotation that may restrict who can use
// the Ingress or route.
const ReasonAnnotationWithheld = "AnnotationWithheld"

// harmlessAnnotations are domains of annotations in which the consumer's tools keep notes. Some tools
// create certificates and DNS records from them. Without these annotations, an Ingress is as closed as
// before.
var harmlessAnnotations = []string{
	"acme.cert-manager.io/", "argocd.argoproj.io/", "cert-manager.io/", "external-dns.alpha.kubernetes.io/", "helm.sh/", "helm.toolkit.fluxcd.io/",
	"kustomize.toolkit.fluxcd.io/", "meta.helm.sh/",
}

// AnnotationRefusal returns a problem for the first annotation that the provider does not allow. An
// annotation may make a controller check who a client is, or where it comes from. Without it, a route
// that is closed in the consumer would be open in the provider.
func AnnotationRefusal(local metav1.Object, what string, limits *Limits) *Problem {
	for _, key := range slices.Sorted(maps.Keys(local.GetAnnotations())) {
		domain, _, _ := strings.Cut(key, "/")
		if IsCopiedAnnotation(key) && !limits.Sends(key) && !slices.Contains(harmlessAnnotations, domain+"/") {
			return Refuse(ReasonAnnotationWithheld,
				"metadata.annotations[%s]: the provider does not allow it (%s, %s in ConfigMap spillway-provider/limits), and without it %s may admit more clients there",
				key, LimitMetadataKeys, LimitReservedKeys, what)
		}
	}
	return nil
}
