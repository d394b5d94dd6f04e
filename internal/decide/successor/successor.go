// Package successor knows, without any I/O, what follows when a pod is deleted or evicted: whether its controller
// creates another one, and whether that one can go to another place.
package successor

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/admission"
)

// Kind is what the controller of a pod does once the pod is gone.
type Kind int

const (
	// None: it creates no other pod, or may interpret the deletion as the end of its work.
	None Kind = iota
	// Another: it creates a pod with another name at once, and any of its pods may go.
	Another
	// SameName: it creates a pod with the same name, once this one has ended.
	SameName
	// Failure: it creates another pod, but counts this one as failed.
	Failure
)

// Of returns what the controller of a pod does once the pod is gone. It knows the controllers of Kubernetes itself.
func Of(pod *corev1.Pod) Kind {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return None
	}
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	switch group + "/" + owner.Kind {
	case "apps/ReplicaSet", "v1/ReplicationController":
		return Another
	case "apps/StatefulSet":
		return SameName
	case "batch/Job":
		return Failure
	}
	return None
}

// Stays returns why a pod is not replaced by one that goes to another place, or "".
func Stays(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	switch {
	case owner == nil:
		return "it has no controller that would create another one"
	case Of(pod) != Another:
		return "its controller is a " + owner.Kind + ", and only pods of a ReplicaSet or a ReplicationController are replaced"
	case len(needs.Claims(pod)) > 0:
		return "it uses PersistentVolumeClaims, which may be tied to the provider"
	case admission.Tolerates(pod, ""): // Only a toleration of all values tolerates none.
		return "it tolerates all virtual nodes, so the next one might go to the same provider"
	}
	return ""
}
