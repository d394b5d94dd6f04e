package test

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// Seen is what a step has seen when it failed.
type Seen struct {
	// Step is the name of the step.
	Step    string
	Binding *v1alpha1.ClusterBinding
	// Namespace is the namespace of the test, and Remote the one in the provider.
	Namespace, Remote string
	Offloading        status.State
	// Finding is what doctor says about the preparation of pods.
	Finding doctor.Finding
	Pod     *corev1.Pod
	// Played: the pod's node in the provider is one of kwok.
	Played bool
	// Address is where the consumer's API server expects the kubelet API of the virtual node.
	Address string
	// Warnings are events about the object.
	Warnings []string
	// Blocker says what blocks the deletion of the namespace.
	Blocker string
}

// diagnose says what was seen when a step failed, what the cause is, and what to do.
func diagnose(seen Seen, err error) (message, cause, mend string) {
	message = strings.TrimSpace(err.Error())
	late := waited(err)
	if waits := seen.waits(); late && waits != "" {
		message += ": " + waits
	}
	if c := meta.FindStatusCondition(seen.Binding.Status.Conditions, v1alpha1.BindingReady); c != nil && c.Status != "True" {
		return message, "the binding is not Ready any more: " + c.Reason + ": " + c.Message, doctor.Mend(c.Reason, seen.Binding.Name)
	}
	if cause, mend = seen.byStep(message); cause == "" {
		cause, mend = bySign(message + " " + strings.Join(seen.Warnings, " "))
	}
	if cause == "" && late && (seen.Step == "pod" || seen.Step == "claim") {
		cause, mend = seen.ofPod()
	}
	name := strings.NewReplacer("%s", seen.Binding.Name, "%r", seen.Remote, "%n", seen.Namespace)
	return message, cause, name.Replace(cmp.Or(mend, "see kubectl spillway doctor and docs/troubleshooting.md; to look at the objects, run the test again with --keep"))
}

// waits says what the step was waiting for.
func (s Seen) waits() string {
	switch s.Step {
	case "namespace":
		return s.Offloading.String()
	case deletion:
		return strings.Trim(s.Blocker+"; "+s.Offloading.String(), "; ")
	}
	if s.Pod == nil {
		return ""
	}
	var parts []string
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, v1alpha1.PodOffloaded} {
		if c := condition(s.Pod, kind); c != nil && c.Status == corev1.ConditionFalse {
			parts = append(parts, c.Reason+": "+c.Message)
		}
	}
	for _, container := range s.Pod.Status.ContainerStatuses {
		if w := container.State.Waiting; w != nil {
			parts = append(parts, w.Reason+": "+w.Message)
		}
	}
	for _, warning := range s.Warnings {
		if !slices.Contains(parts, warning) {
			parts = append(parts, warning)
		}
	}
	return strings.Join(parts, "; ")
}

// byStep returns causes that only one step has.
func (s Seen) byStep(message string) (cause, mend string) {
	switch s.Step {
	case "admission":
		return "the consumer does not prepare new pods for providers", s.Finding.Mend
	case "status":
		return s.ofAddress()
	case "log", "exec", "port-forward":
		return s.ofStream(message)
	case "dns":
		return "the provider's DNS or Services do not work for its pods, a NetworkPolicy there keeps them apart, or its network lets no pod reach itself through a Service",
			"in the provider, try the same from a pod in namespace %r; the provider's administrator must look at its DNS, kube-proxy and network plugin"
	case deletion:
		if strings.Contains(s.Blocker, string(corev1.NamespaceDeletionDiscoveryFailure)) {
			return "Kubernetes deletes no namespace while a registered API does not answer: " + s.Blocker,
				"kubectl get apiservices in the cluster with that message; start what serves the API, or delete its APIService"
		}
		if s.Blocker == "" {
			return "it takes longer than the time that was left: Kubernetes waits 5 seconds before it deletes a namespace, in each cluster", "a longer --timeout; kubectl get namespace %n -o yaml says what blocks it"
		}
	}
	return "", ""
}

// unreachable are how programs say that they cannot reach an address.
var unreachable = []string{"connection refused", "no route to host", "i/o timeout", "network is unreachable", "context deadline exceeded", "no such host", "dial tcp"}

// ofStream is the cause if logs, exec or port-forward fails: one of two connections cannot be made, or the manager
// does not let the API server in.
func (s Seen) ofStream(message string) (cause, mend string) {
	if strings.Contains(message, errSilent.Error()) {
		return "packets get lost: from the consumer's API server to the manager's kubelet API at " + s.Address + ", or from the provider's API server to the kubelet of the pod's node there",
			"if kubectl logs works in the provider, check the first, with docs/kubelet.md: the manager's flag --kubelet-address, its port 10250, and who may reach it"
	}
	if doctor.Unknown(message) {
		return "the manager does not know the consumer's API server, which shows no client certificate for kubelets, or a wrong one", doctor.GiveCertificate
	}
	if !slices.ContainsFunc(unreachable, func(text string) bool { return strings.Contains(message, text) }) {
		return "", ""
	}
	if s.Address != "" && strings.Contains(message, s.Address) {
		return "there is no route from the consumer's API server to the manager's kubelet API at " + s.Address,
			"check, with docs/kubelet.md, the address in the manager's flag --kubelet-address, its port 10250, and who may reach it"
	}
	return "there is no route from the provider's API server to the kubelet of the pod's node in the provider", "the provider's administrator must repair that: kubectl logs and exec fail there, too"
}

// ofAddress is the cause if the status has no address.
func (s Seen) ofAddress() (cause, mend string) {
	network := meta.FindStatusCondition(s.Binding.Status.Conditions, v1alpha1.BindingNetwork)
	if network != nil && network.Reason == v1alpha1.ReasonCIDROverlap {
		return network.Message, doctor.Mend(network.Reason, s.Binding.Name)
	}
	if s.Pod != nil && outside(s.Pod, s.Binding) {
		return "the pod's address in the provider, " + s.Pod.Annotations[v1alpha1.AnnotationRemoteIP] + ", is in no range of spec.network.podCIDRs of the binding: " + ranges(s.Binding),
			"correct spec.network.podCIDRs of ClusterBinding %s"
	}
	return "", ""
}

// returned checks the status of a running pod.
func returned(pod *corev1.Pod, binding *v1alpha1.ClusterBinding) (string, error) {
	switch {
	case pod.Annotations[v1alpha1.AnnotationRemoteUID] == "":
		return "", errors.New("the pod does not say which pod it is in the provider")
	case !slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running != nil }):
		return "", errors.New("the status has no running container")
	case binding.Spec.Network.Mode != v1alpha1.NetworkRouted:
		return "its containers run; it has no address, because the network mode is Isolated", nil
	case pod.Status.PodIP == "":
		return "", errors.New("the status has no address, although the network mode is Routed")
	}
	return "its containers run, and it has the address " + pod.Status.PodIP, nil
}

// outside reports whether the pod's address in the provider is in none of the binding's ranges.
func outside(pod *corev1.Pod, binding *v1alpha1.ClusterBinding) bool {
	first, _, _ := strings.Cut(pod.Annotations[v1alpha1.AnnotationRemoteIP], ",")
	address, err := netip.ParseAddr(first)
	return err == nil && !slices.ContainsFunc(binding.Spec.Network.PodCIDRs, func(cidr v1alpha1.PodCIDR) bool {
		prefix, err := netip.ParsePrefix(string(cidr))
		return err == nil && prefix.Contains(address)
	})
}

func ranges(binding *v1alpha1.ClusterBinding) string {
	all := make([]string, len(binding.Spec.Network.PodCIDRs))
	for i, cidr := range binding.Spec.Network.PodCIDRs {
		all[i] = string(cidr)
	}
	return strings.Join(all, ", ")
}

// ready reports whether an endpoint is ready.
func ready(all []discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(all, func(s discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready != nil && *e.Conditions.Ready })
	})
}

// storage returns the first StorageClass that the binding maps; "" if none.
func storage(binding *v1alpha1.ClusterBinding) string {
	for _, class := range binding.Spec.Classes {
		if class.Kind == v1alpha1.ClassStorage {
			return class.Name
		}
	}
	return ""
}

// unplayed reports whether kwok says that it plays nothing for this request.
func unplayed(err error) bool {
	return slices.ContainsFunc([]string{"no logs found", "no exec found", "no forward found", "target not found", "forward not found"}, func(text string) bool { return strings.Contains(err.Error(), text) })
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	return field.First(pod.Status.Conditions, func(c *corev1.PodCondition) bool { return c.Type == kind })
}
