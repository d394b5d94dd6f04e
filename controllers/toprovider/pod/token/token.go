// Package token decides which pods get tokens for the consumer's API, and where a remote pod finds them.
//
// A pod gets tokens if it mounts some, and the NamespaceOffloading of its namespace lists its ServiceAccount.
// All tokens of a pod are in one Secret in the provider, whose name has the UID of the pod. A remote pod mounts
// that Secret in the same volumes, at the same paths, as the local pod mounts its tokens.
package token

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// The keys of the Secret besides those of other audiences.
const (
	// KeyToken is the key of the token for the API server itself.
	KeyToken = corev1.ServiceAccountTokenKey
	// KeyAuthority is the key of the certificates of the authorities that sign the API server's certificate.
	KeyAuthority = corev1.ServiceAccountRootCAKey
	// KeyNamespace is the key of the name of the pod's namespace in the consumer.
	KeyNamespace = corev1.ServiceAccountNamespaceKey
)

// MostSeconds is the longest life of a token. It is not 3607: for that number, which admission writes into each
// pod, API servers issue tokens of a year.
const MostSeconds = 3600

// mostAudiences is how many different tokens a pod gets at most.
const mostAudiences = 16

// Wanted is a token that a pod gets.
type Wanted struct {
	// Audience is who accepts the token; "" for the API server itself.
	Audience string
	// Seconds is how long it is valid.
	Seconds int64
}

// Key returns the key of a token in the Secret.
func (w Wanted) Key() string {
	if w.Audience == "" {
		return KeyToken
	}
	sum := sha256.Sum256([]byte(w.Audience))
	return KeyToken + "-" + hex.EncodeToString(sum[:8])
}

// AccountOf returns the name of a pod's ServiceAccount.
func AccountOf(pod *corev1.Pod) string { return cmp.Or(pod.Spec.ServiceAccountName, "default") }

// Granted returns the tokens that a pod gets, one for each audience, in order. It returns nil if there are none.
func Granted(pod *corev1.Pod, api field.ConsumerAPI) []Wanted {
	wanted := Mounted(pod)
	if len(wanted) == 0 || !api.Grants(pod.Namespace, AccountOf(pod)) {
		return nil
	}
	return wanted
}

// Mounted returns the tokens that a pod mounts. If several of its volumes ask for the same audience, the
// shortest life counts.
func Mounted(pod *corev1.Pod) []Wanted {
	seconds := map[string]int64{}
	for i := range pod.Spec.Volumes {
		for _, source := range sourcesOf(&pod.Spec.Volumes[i]) {
			life := int64(MostSeconds)
			if s := source.ExpirationSeconds; s != nil {
				life = min(life, *s)
			}
			if known, there := seconds[source.Audience]; there {
				life = min(life, known)
			}
			seconds[source.Audience] = life
		}
	}
	var wanted []Wanted
	for _, audience := range slices.Sorted(maps.Keys(seconds)) {
		wanted = append(wanted, Wanted{audience, seconds[audience]})
	}
	return wanted
}

// sourcesOf returns the tokens in a volume.
func sourcesOf(v *corev1.Volume) []*corev1.ServiceAccountTokenProjection {
	if v.Projected == nil {
		return nil
	}
	var all []*corev1.ServiceAccountTokenProjection
	for i := range v.Projected.Sources {
		if source := v.Projected.Sources[i].ServiceAccountToken; source != nil {
			all = append(all, source)
		}
	}
	return all
}

// TooMany refuses a pod that asks for more different tokens than a pod gets.
func TooMany(pod *corev1.Pod) *field.Problem {
	if wanted := Mounted(pod); len(wanted) > mostAudiences {
		return field.Refuse(field.ReasonCredentials, "the pod asks for tokens for %d audiences, and Spillway sends at most %d", len(wanted), mostAudiences)
	}
	return nil
}
