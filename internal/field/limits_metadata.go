package field

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// plainKeys are keys, or domains of keys, that describe an object, or that Kubernetes itself writes. No
// controller treats them as a command, and pods read them. The provider's policy has the same list.
var plainKeys = []string{
	"app.kubernetes.io/", "apps.kubernetes.io/", "batch.kubernetes.io/", "statefulset.kubernetes.io/", "kubectl.kubernetes.io/",
	"container.apparmor.security.beta.kubernetes.io/", // Older API servers derive these from fields, and pod security checks them.
	limitRanger,
}

// listedKeys are sent without being listed. They keep autoscalers from evicting a pod to save a node. A
// provider that wants to save nodes reserves them. The provider's policy has the same list.
var listedKeys = []string{"karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict"}

// Sends reports whether a label or annotation with this key may be sent. A controller in the provider
// may treat the value of a key with a domain as a command. It may have more rights than the author. So
// the provider lists the keys that it allows.
func (l *Limits) Sends(key string) bool {
	domain, _, named := strings.Cut(key, "/")
	domain += "/"
	unlisted := !named || slices.Contains(listedKeys, key)
	switch {
	case isPlain(key, domain):
		return true
	case l == nil:
		return unlisted
	case slices.Contains(l.ReservedKeys, key), slices.Contains(l.ReservedKeys, domain):
		return false
	}
	return unlisted || ListsOrAll(l.MetadataKeys, key) || slices.Contains(l.MetadataKeys, domain)
}

// Withhold removes from desired, which Metadata made, the labels and annotations that the provider does
// not allow. Those that remote already has from the consumer stay as they are, and cause no write.
// Limits apply only to what is sent later. remote may be nil.
func (l *Limits) Withhold(desired, remote metav1.Object) {
	labels, annotations := desired.GetLabels(), desired.GetAnnotations()
	sends := l.Sends
	if _, isSlice := desired.(*discoveryv1.EndpointSlice); isSlice {
		sends = func(key string) bool { return slices.Contains(keysOfSlices, key) || l.Sends(key) }
	}
	if sendsAll(labels, sends) && sendsAll(annotations, sends) {
		return
	}
	var there metav1.ObjectMeta
	if remote != nil {
		there.Labels, there.Annotations = remote.GetLabels(), remote.GetAnnotations()
	}
	was := readCopied(there.Annotations[v1alpha1.AnnotationCopied])
	withhold(labels, there.Labels, was.labels, sends)
	withhold(annotations, there.Annotations, was.annotations, sends)
	annotations[v1alpha1.AnnotationCopied] = copiedKeys(labels, annotations)
}

func sendsAll(entries map[string]string, sends func(key string) bool) bool {
	for key := range entries {
		if !sends(key) {
			return false
		}
	}
	return true
}

func withhold(desired, there map[string]string, was []string, sends func(key string) bool) {
	for key := range desired {
		if sends(key) {
			continue
		}
		if value, is := there[key]; is && slices.Contains(was, key) {
			desired[key] = value
		} else {
			delete(desired, key)
		}
	}
}

// keysOfSlices are the labels that tell Kubernetes the purpose of an EndpointSlice. Limits never
// withhold them. The provider's policy has the same list.
var keysOfSlices = []string{discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, corev1.IsHeadlessService}
