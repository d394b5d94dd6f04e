package kubeletapi

import (
	"cmp"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// Snapshot is what the caches show about the pod of a request.
type Snapshot struct {
	// Local is the pod in the consumer, or nil if it is on no virtual node of this manager.
	Local *corev1.Pod
	// Incomplete is set if the pods of some virtual node are not known yet.
	Incomplete bool
	// Binding is the ClusterBinding of the pod's virtual node, or nil.
	Binding *v1alpha1.ClusterBinding
	// Provider is the state of the connection to the provider.
	Provider connection.State
	// Origin is the identity of the consumer.
	Origin string
	// Remotes are the provider's pods that claim to represent the local pod.
	Remotes []*corev1.Pod
}

// Target is the provider's pod that a request goes to.
type Target struct {
	Binding, ClusterID string
	// LocalUID and Remote identify both pods.
	LocalUID  types.UID
	Remote    types.NamespacedName
	RemoteUID types.UID
}

// Decide returns the pod that a request may reach, or why it reaches none.
func Decide(request Request, seen Snapshot) (Target, *Refusal) {
	pod := request.Pod.String()
	switch {
	case seen.Local == nil && seen.Incomplete:
		return Target{}, refuse(NotConnected, http.StatusBadGateway, "this manager has just started, and does not know yet where pod %s is: try again in a moment", pod)
	case seen.Local == nil:
		return Target{}, refuse(NoPod, http.StatusBadRequest, "pod %s is not on a virtual node of this manager", pod)
	case seen.Binding == nil:
		return Target{}, refuse(NoPod, http.StatusBadRequest, "node %s of pod %s no longer has a ClusterBinding", seen.Local.Spec.NodeName, pod)
	case seen.Binding.Spec.Paused:
		return Target{}, refuse(Paused, http.StatusForbidden, "ClusterBinding %s, which runs pod %s, is paused (spec.paused)", seen.Binding.Name, pod)
	case seen.Provider.Phase != connection.Connected:
		return Target{}, refuse(NotConnected, http.StatusBadGateway, "provider %s, where pod %s runs, is not connected: %s", seen.Binding.Spec.ClusterID, pod,
			cmp.Or(seen.Provider.Message, "it is being connected"))
	}
	remote := seen.remote()
	if remote == nil {
		return Target{}, refuse(NoPod, http.StatusBadRequest, "pod %s is not in provider %s: %s", pod, seen.Binding.Spec.ClusterID, absent(seen.Local))
	}
	if refusal := reachable(request, seen.Local, remote); refusal != nil {
		return Target{}, refusal
	}
	return Target{
		Binding: seen.Binding.Name, ClusterID: seen.Binding.Spec.ClusterID, LocalUID: seen.Local.UID,
		Remote: types.NamespacedName{Namespace: remote.Namespace, Name: remote.Name}, RemoteUID: remote.UID,
	}, nil
}

// MustEnd says why an open stream to a target must end, or returns nil. While the provider is not connected the
// stream continues, because nothing is known about the remote pod.
func MustEnd(request Request, target Target, seen Snapshot) *Refusal {
	pod := request.Pod.String()
	switch {
	case seen.Local == nil && seen.Incomplete:
		return nil
	case seen.Local == nil || seen.Local.UID != target.LocalUID:
		return refuse(NoPod, http.StatusBadRequest, "pod %s is gone", pod)
	case seen.Binding == nil || seen.Binding.Name != target.Binding:
		return refuse(NoPod, http.StatusBadRequest, "the ClusterBinding of pod %s is gone", pod)
	case seen.Binding.Spec.Paused:
		return refuse(Paused, http.StatusForbidden, "ClusterBinding %s is paused (spec.paused)", seen.Binding.Name)
	case seen.Provider.Phase != connection.Connected:
		return nil
	}
	if remote := seen.remote(); remote == nil || remote.UID != target.RemoteUID {
		return refuse(NoPod, http.StatusBadRequest, "pod %s is gone in provider %s", pod, target.ClusterID)
	}
	return nil
}

func (s Snapshot) remote() *corev1.Pod {
	return RemoteFor(provenance.Mark{Origin: s.Origin, ClusterID: s.Binding.Spec.ClusterID}, s.Local, s.Remotes)
}

// RemoteFor returns the remote pod that represents exactly this local pod, through the binding of the mark, or
// nil. If the local pod names a remote pod, only that one counts, because others in the provider can create
// pods with the same marks in their own namespaces. A pod that is not being deleted takes precedence over one
// that is.
func RemoteFor(mark provenance.Mark, local *corev1.Pod, remotes []*corev1.Pod) *corev1.Pod {
	named := provenance.RemoteOf(local)
	names := named.UID != "" && named.For == local.UID
	var found *corev1.Pod
	for _, remote := range remotes {
		of := provenance.LocalOf(remote)
		if !mark.IsOn(remote) || of.UID != local.UID || of.Namespace != local.Namespace || of.Name != local.Name || names && remote.UID != named.UID {
			continue
		}
		if found == nil || !found.DeletionTimestamp.IsZero() {
			found = remote
		}
	}
	return found
}

// absent says why a pod is not in the provider. If its status has a reason, absent returns that.
func absent(local *corev1.Pod) string {
	switch {
	case !local.DeletionTimestamp.IsZero():
		return "it is being deleted"
	case local.Status.Phase == corev1.PodSucceeded || local.Status.Phase == corev1.PodFailed:
		return "it has ended (" + string(local.Status.Phase) + "), and is gone there"
	}
	return cmp.Or(local.Status.Message, "it has not been sent yet; see its conditions and events")
}

// reachable says why an existing pod cannot be reached. A container that only the remote pod has belongs to
// the provider, for example a sidecar with the provider's credentials.
func reachable(request Request, local, remote *corev1.Pod) *Refusal {
	both := slices.DeleteFunc(containers(local), func(name string) bool { return !slices.Contains(containers(remote), name) })
	if request.Action != PortForward && !slices.Contains(both, request.Container) {
		return refuse(NoPod, http.StatusBadRequest, "pod %s has no container %s in the provider; it has %v", request.Pod, request.Container, both)
	}
	if request.Action == Logs {
		return nil // If the container has not started, the provider's kubelet says why.
	}
	switch remote.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return refuse(NoPod, http.StatusBadRequest, "pod %s has ended (%s): there is nothing to %s", request.Pod, remote.Status.Phase, doing(request.Action))
	}
	if remote.Spec.NodeName == "" {
		return refuse(NoPod, http.StatusBadRequest, "pod %s has not started: it waits for a node of the provider", request.Pod)
	}
	return nil
}

func doing(action Action) string {
	switch action {
	case Exec:
		return "run a command in"
	case Attach:
		return "attach to"
	default:
		return "forward a port to"
	}
}

func containers(pod *corev1.Pod) []string {
	var names []string
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	return names
}
