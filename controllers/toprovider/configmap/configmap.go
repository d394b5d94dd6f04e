// Package configmap sends the ConfigMaps that offloaded pods need.
package configmap

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;patch

// Kind is the kind of ConfigMaps.
func Kind() kind.Kind[*corev1.ConfigMap] {
	return kind.NewCopy[corev1.ConfigMap, corev1.ConfigMapList]("configmap", kind.Referenced, translation{})
}

type translation struct{ kind.Namespaced }

// Remote implements decide.Translation.
func (translation) Remote(local *corev1.ConfigMap, t field.Target, _ decide.Inputs) (*corev1.ConfigMap, *field.Problem) {
	return toRemote(local, t)
}

// Merge implements decide.Translation. Spillway owns the whole content of the copy. remote has a digest instead
// of its content.
func (translation) Merge(desired, remote *corev1.ConfigMap) (*corev1.ConfigMap, bool) {
	merged := field.Merged(desired, remote)
	merged.Data, merged.BinaryData = field.MergeContent(desired.Data, remote.Data), field.MergeContent(desired.BinaryData, remote.BinaryData)
	merged.Immutable = desired.Immutable
	frozen := remote.Immutable != nil && *remote.Immutable
	same := equality.Semantic.DeepEqual(merged.Data, remote.Data) && equality.Semantic.DeepEqual(merged.BinaryData, remote.BinaryData) &&
		equality.Semantic.DeepEqual(merged.Immutable, remote.Immutable)
	return merged, frozen && !same
}
