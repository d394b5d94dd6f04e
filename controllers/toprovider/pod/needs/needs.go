// Package needs lists the objects that a pod names. Of returns the ConfigMaps, Secrets and PersistentVolumeClaims
// that must be in the provider before the pod.
package needs

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/names"
)

// References are the objects that a pod needs, sorted by name, each once.
type References struct {
	ConfigMaps             []Reference
	Secrets                []Reference
	PersistentVolumeClaims []Reference
}

// Reference names an object in the pod's namespace.
type Reference struct {
	Name string
	// Optional reports that the pod starts without the object in every place that names it.
	Optional bool
}

// Of returns the objects that must be in the provider for a pod to run there. It skips the
// injected service account token, and ephemeral containers that some providers refuse. For a generic
// ephemeral volume, it returns the claim that Kubernetes created in the consumer.
func Of(pod *corev1.Pod) References {
	spec := pod.Spec
	spec.EphemeralContainers = accept.AllowedEphemeralContainers(pod, nil)
	var refs References
	for _, place := range names.Places(&spec) {
		refs.add(place.Kind, *place.Name, place.Optional)
	}
	for i := range spec.Volumes {
		if spec.Volumes[i].Ephemeral != nil {
			refs.add(names.Claim, EphemeralClaim(pod.Name, spec.Volumes[i].Name), false)
		}
	}
	refs.ConfigMaps = Deduplicated(refs.ConfigMaps)
	refs.Secrets = Deduplicated(refs.Secrets)
	refs.PersistentVolumeClaims = Deduplicated(refs.PersistentVolumeClaims)
	return refs
}

// MostClaims is how many PersistentVolumeClaims a pod may name to get a toleration for virtual nodes
// once they are bound. Kubernetes has no such limit, but no node attaches that many volumes.
const MostClaims = 128

// Claims returns the names of the PersistentVolumeClaims behind a pod's volumes, each once. It returns
// at most one more than MostClaims.
func Claims(pod *corev1.Pod) []string {
	var claims []string
	known := sets.New[string]()
	for i := range pod.Spec.Volumes {
		var name string
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = EphemeralClaim(pod.Name, v.Name)
		default:
			continue
		}
		if known.Has(name) {
			continue
		}
		if claims = append(claims, name); len(claims) > MostClaims {
			break
		}
		known.Insert(name)
	}
	return claims
}

func (r *References) add(k names.Kind, name string, optional bool) {
	if name == "" {
		return // The API server accepts the legacy empty name, but it names no object.
	}
	switch k {
	case names.ConfigMap:
		r.ConfigMaps = append(r.ConfigMaps, Reference{name, optional})
	case names.Secret:
		r.Secrets = append(r.Secrets, Reference{name, optional})
	case names.Claim:
		r.PersistentVolumeClaims = append(r.PersistentVolumeClaims, Reference{name, optional})
	}
}

// Deduplicated keeps one reference for each name. It prefers a required one.
func Deduplicated(refs []Reference) []Reference {
	slices.SortFunc(refs, func(a, b Reference) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), order(a.Optional)-order(b.Optional))
	})
	return slices.CompactFunc(refs, func(a, b Reference) bool { return a.Name == b.Name })
}

func order(optional bool) int {
	if optional {
		return 1
	}
	return 0
}

// EphemeralClaim returns the name of the claim that Kubernetes creates for a generic ephemeral volume.
func EphemeralClaim(pod, volume string) string { return pod + "-" + volume }
