// Package secret sends the Secrets that offloaded pods, and their volumes, need.
package secret

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch

// Kind is the kind of Secrets.
func Kind() kind.Kind[*corev1.Secret] {
	return kind.NewCopy[corev1.Secret, corev1.SecretList]("secret", kind.Referenced, translation{})
}

type translation struct{ kind.Namespaced }

// Remote implements decide.Translation.
func (translation) Remote(local *corev1.Secret, t field.Target, _ decide.Inputs) (*corev1.Secret, *field.Problem) {
	return toRemote(local, t)
}

// Merge implements decide.Translation. Spillway owns the whole content of the copy. The type of a Secret cannot
// be changed. remote has a digest instead of its content.
func (translation) Merge(desired, remote *corev1.Secret) (*corev1.Secret, bool) {
	merged := field.Merged(desired, remote)
	merged.Data, merged.Immutable, merged.Type = field.MergeContent(desired.Data, remote.Data), desired.Immutable, desired.Type
	frozen := remote.Immutable != nil && *remote.Immutable
	same := equality.Semantic.DeepEqual(merged.Data, remote.Data) && equality.Semantic.DeepEqual(merged.Immutable, remote.Immutable)
	return merged, merged.Type != remote.Type || (frozen && !same)
}
