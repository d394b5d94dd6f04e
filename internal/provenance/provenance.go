// Package provenance says whose an object in a provider is.
//
// Everything that Spillway creates in a provider carries a Mark: who made it
// (Spillway), for which consumer (its origin), and through which ClusterBinding
// (its clusterID). The mark also says by which account in the provider, which is
// for the provider's policies: we know our own without it, since an account may be
// replaced by another one, and is not known with credentials of another kind.
// Annotations name the local object that it stands for, with its UID. An object that lacks any of it is somebody else's: it is reported,
// and never written or deleted.
package provenance

import (
	"fmt"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Mark identifies what one consumer creates through one ClusterBinding.
type Mark struct {
	// Origin is the identity of the consumer: the UID of its kube-system namespace.
	Origin string
	// ClusterID is that of the ClusterBinding.
	ClusterID string
	// Account is the one that the provider knows us by, if its policies do; see
	// Account. It is written, and never asked for.
	Account string
}

// Labels are the labels that the mark consists of, in a map of its own.
func (m Mark) Labels() map[string]string {
	l := m.identity()
	if m.Account != "" {
		l[v1alpha1.LabelAccount] = m.Account
	}
	return l
}

// identity is the part of the mark that tells ours from others'.
func (m Mark) identity() map[string]string {
	return map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway,
		v1alpha1.LabelOrigin:    m.Origin,
		v1alpha1.LabelBinding:   m.ClusterID,
	}
}

// Selector matches what carries the mark, by whichever account.
func (m Mark) Selector() labels.Selector {
	return labels.SelectorFromSet(m.identity())
}

// IsOn reports whether obj carries the mark.
func (m Mark) IsOn(obj metav1.Object) bool {
	return m.Selector().Matches(labels.Set(obj.GetLabels()))
}

// Local is the object of the consumer that a remote one stands for.
type Local struct {
	Namespace string
	Name      string
	UID       types.UID
}

// NamespaceAnnotations are the annotations of a remote namespace that stands
// for the local namespace of that name and UID.
func NamespaceAnnotations(name string, uid types.UID) map[string]string {
	return map[string]string{
		v1alpha1.AnnotationLocalNamespace: name,
		v1alpha1.AnnotationLocalName:      name,
		v1alpha1.AnnotationLocalUID:       string(uid),
	}
}

// LocalOf reads from a remote object which local one it stands for. The fields
// are empty where the object does not say.
func LocalOf(obj metav1.Object) Local {
	annotations := obj.GetAnnotations()
	return Local{
		Namespace: annotations[v1alpha1.AnnotationLocalNamespace],
		Name:      annotations[v1alpha1.AnnotationLocalName],
		UID:       types.UID(annotations[v1alpha1.AnnotationLocalUID]),
	}
}

// Remote is the object of a provider that a pod of the consumer says it runs as.
type Remote struct {
	Namespace string
	Name      string
	UID       types.UID
	// For is the UID of the local object that this was written for.
	For types.UID
}

// RemoteOf reads from a pod of the consumer which remote one it runs as. The
// fields are empty where it does not say.
func RemoteOf(obj metav1.Object) Remote {
	annotations := obj.GetAnnotations()
	return Remote{
		Namespace: annotations[v1alpha1.AnnotationRemoteNamespace],
		Name:      annotations[v1alpha1.AnnotationRemoteName],
		UID:       types.UID(annotations[v1alpha1.AnnotationRemoteUID]),
		For:       types.UID(annotations[v1alpha1.AnnotationRemoteFor]),
	}
}

// Describe says for people whose obj is. It quotes what a provider wrote, cut
// to a length that fits a condition.
func Describe(obj metav1.Object) string {
	l := obj.GetLabels()
	if l[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBySpillway {
		local := LocalOf(obj)
		return fmt.Sprintf("it belongs to Spillway's consumer %s, binding %s, local namespace %s (UID %s)",
			orUnknown(l[v1alpha1.LabelOrigin]), orUnknown(l[v1alpha1.LabelBinding]), orUnknown(local.Namespace), orUnknown(string(local.UID)))
	}
	if by := l["app.kubernetes.io/managed-by"]; by != "" {
		return fmt.Sprintf("it is managed by %s", cut(by))
	}
	return "it was not created by Spillway"
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return cut(s)
}

// Clean keeps a string that a provider wrote on one line, and free of what
// cannot be printed: it would reach somebody's terminal as escape sequences, or
// as characters that turn the direction of the text.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}

// cut bounds and cleans a string that a provider wrote.
func cut(s string) string {
	s = Clean(s)
	if r := []rune(s); len(r) > 64 {
		return string(r[:63]) + "…"
	}
	return s
}
