// Package provenance determines who owns an object in a provider.
//
// Everything that Spillway creates in a provider carries a Mark: that Spillway manages it, for which
// consumer (its origin), and through which ClusterBinding (its clusterID). Annotations name the local
// object and its UID. If an object lacks any of these, it is not this manager's: Spillway reports it,
// but never writes or deletes it.
//
// The mark also names the manager's account, for the provider's policies. Spillway recognises its
// objects without it: an administrator may replace the account, and with other credentials the manager
// does not know it.
package provenance

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

// Mark identifies what one consumer creates through one ClusterBinding.
type Mark struct {
	// Origin is the identity of the consumer: the UID of its kube-system namespace.
	Origin string
	// ClusterID is the spec.clusterID of the ClusterBinding.
	ClusterID string
	// Account is the manager's account in the provider, if the provider's policies confine it; see
	// Account. It is only written. Spillway never reads it to recognise an object.
	Account string
}

// Labels returns the mark as labels, in a new map.
func (m Mark) Labels() map[string]string {
	l := m.identity()
	if m.Account != "" {
		l[v1alpha1.LabelAccount] = m.Account
	}
	return l
}

// identity returns the labels that distinguish this manager's objects.
func (m Mark) identity() map[string]string {
	return map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway,
		v1alpha1.LabelOrigin:    m.Origin,
		v1alpha1.LabelBinding:   m.ClusterID,
	}
}

// Selector matches objects with the mark, whatever account created them.
func (m Mark) Selector() labels.Selector {
	return labels.SelectorFromSet(m.identity())
}

// IsOn reports whether obj carries the mark.
func (m Mark) IsOn(obj metav1.Object) bool {
	return m.Selector().Matches(labels.Set(obj.GetLabels()))
}

// Local is the consumer's object that a remote object represents.
type Local struct {
	Namespace string
	Name      string
	UID       types.UID
}

// NamespaceAnnotations returns the annotations of the remote namespace for a local namespace with that
// name and UID.
func NamespaceAnnotations(name string, uid types.UID) map[string]string {
	return map[string]string{
		v1alpha1.AnnotationLocalNamespace: name,
		v1alpha1.AnnotationLocalName:      name,
		v1alpha1.AnnotationLocalUID:       string(uid),
	}
}

// LocalOf returns the local object that a remote object represents. Fields without an annotation are
// empty.
func LocalOf(obj metav1.Object) Local {
	annotations := obj.GetAnnotations()
	return Local{
		Namespace: annotations[v1alpha1.AnnotationLocalNamespace],
		Name:      annotations[v1alpha1.AnnotationLocalName],
		UID:       types.UID(annotations[v1alpha1.AnnotationLocalUID]),
	}
}

// Remote is the remote pod that a local pod runs as.
type Remote struct {
	Namespace string
	Name      string
	UID       types.UID
	// For is the UID of the local object for which this was written.
	For types.UID
}

// RemoteOf returns the remote pod that a local pod runs as. Fields without an annotation are empty.
func RemoteOf(obj metav1.Object) Remote {
	annotations := obj.GetAnnotations()
	return Remote{
		Namespace: annotations[v1alpha1.AnnotationRemoteNamespace],
		Name:      annotations[v1alpha1.AnnotationRemoteName],
		UID:       types.UID(annotations[v1alpha1.AnnotationRemoteUID]),
		For:       types.UID(annotations[v1alpha1.AnnotationRemoteFor]),
	}
}

// Describe tells people who owns obj. It quotes the provider, shortened to fit a condition.
func Describe(obj metav1.Object) string {
	l := obj.GetLabels()
	if l[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBySpillway {
		local := LocalOf(obj)
		return fmt.Sprintf("it belongs to Spillway's consumer %s, binding %s, local namespace %s (UID %s)",
			orUnknown(l[v1alpha1.LabelOrigin]), orUnknown(l[v1alpha1.LabelBinding]), orUnknown(local.Namespace), orUnknown(string(local.UID)))
	}
	if by := l["app.kubernetes.io/managed-by"]; by != "" {
		return fmt.Sprintf("it is managed by %s", text.Short(by))
	}
	return "it was not created by Spillway"
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return text.Short(s)
}
