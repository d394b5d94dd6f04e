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
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
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

// sign is a text that shows the cause of a refusal.
type sign struct{ text, cause, mend string }

// signs are how API servers word refusals. The first one that matches counts.
var signs = []sign{
	{"no params found for policy binding", "the provider has no limits for consumers, or its API server does not see them",
		"kubectl spillway bind %s --provider-context CONTEXT recreates ConfigMap " + config.ProviderNamespace + "/" + config.Limits + "; if it is there, restart the provider's API servers"},
	{"spec.remoteNamespaces.namePattern", "the binding's own rule for names of remote namespaces refuses it",
		"allow names that begin with " + prefix + " in spec.remoteNamespaces.namePattern of ClusterBinding %s"},
	{"exceeded quota", "a ResourceQuota in the provider is exhausted",
		"the provider's administrator must raise it, or free what uses it: kubectl describe resourcequota -n %r"},
	{"status unknown for quota", "a ResourceQuota in the provider has no status yet", "the provider's kube-controller-manager must run"},
	{"failed quota", "a ResourceQuota in the provider demands more of a pod than it says", "the provider's administrator must give namespace %r a LimitRange with defaults"},
	{"ValidatingAdmissionPolicy 'spillway-consumers", "the provider's limits refuse it",
		"the provider's administrator may allow it in ConfigMap " + config.ProviderNamespace + "/" + config.Limits + ": docs/operations.md, limits"},
	{"ClaimNotBound", "the claim gets no volume",
		"docs/operations.md, volumes that a provider creates: the manager needs the ClusterRole spillway-volumes, and the provider lists the class in storageClasses of its limits"},
	{"security context constraint", "the provider is OpenShift, which refuses the user ID of the pod", "leave it to the provider: --run-as-user=-1"},
	{"violates PodSecurity", "the pod security level of the namespace in the provider refuses it", "docs/operations.md, limits, podSecurity"},
	{"admission webhook", "an admission webhook of the provider refuses it, or does not answer", "ask the provider's administrator about the webhook in the message"},
	{"ValidatingAdmissionPolicy", "an admission policy of the provider refuses it", "ask the provider's administrator about the policy in the message"},
	{"does not let Spillway", "the consumer's account lacks a right in the provider", bindAgain},
	{": User \"", "the consumer's account lacks a right in the provider", bindAgain},
}

const bindAgain = "kubectl spillway bind %s --provider-context CONTEXT applies the roles again"

// refusals are the reasons of conditions that end a wait early.
var refusals = []string{
	v1alpha1.ReasonRejected, v1alpha1.ReasonRightsMissing, v1alpha1.ReasonRefused, v1alpha1.ReasonLimitsInvalid, v1alpha1.ReasonLimitsMissing, v1alpha1.ReasonLimitsForbidden, v1alpha1.ReasonQuotaExceeded,
}

// isRefusal reports whether waiting on makes little sense.
func isRefusal(reason, message string) bool {
	return slices.Contains(refusals, reason) || slices.ContainsFunc(signs, func(s sign) bool { return strings.Contains(message, s.text) })
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

func bySign(text string) (cause, mend string) {
	for _, s := range signs {
		if strings.Contains(text, s.text) {
			return s.cause, s.mend
		}
	}
	return "", ""
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

// ofPod is the cause if the pod does not become Ready.
func (s Seen) ofPod() (cause, mend string) {
	if s.Pod == nil {
		return "", ""
	}
	offloaded, stuck := condition(s.Pod, v1alpha1.PodOffloaded), pod.StuckOf(s.Pod)
	switch {
	case s.Pod.Spec.NodeName == "":
		return "the consumer's scheduler places no pod on the virtual node", "compare the pod's request of 10m CPU and 32Mi with kubectl describe node -l " + v1alpha1.LabelCluster + "=" + s.Binding.Spec.ClusterID + ": its allocatable, and its taints"
	case stuck != nil && stuck.Unplaced():
		return s.ofNoNode(stuck)
	case offloaded != nil && offloaded.Status == corev1.ConditionFalse:
		return "the pod is not in the provider: " + offloaded.Reason, cmp.Or(doctor.Mend(offloaded.Reason, s.Binding.Name), "docs/troubleshooting.md, pods, reason "+offloaded.Reason)
	}
	for _, container := range s.Pod.Status.ContainerStatuses {
		if w := container.State.Waiting; w != nil && strings.Contains(w.Reason, "Image") {
			return "the provider's node cannot pull the image " + container.Image, "name an image that it can pull: --image"
		}
		if w := container.State.Waiting; w != nil && isPreparing(w.Reason) {
			return "the provider is still pulling the image, or attaching a volume: this need not be a fault", "give it more time: --timeout 10m; or name an image that is near: --image"
		}
		if ended := container.LastTerminationState.Terminated; ended != nil {
			return "the container ends at once", "the image needs a shell, httpd and wget: --image"
		}
	}
	return "the provider does not start the pod", "in the provider: kubectl describe pod -n %r; kubectl get nodes"
}

func isPreparing(reason string) bool {
	return reason == "ContainerCreating" || reason == "PodInitializing"
}

// coming says what the provider does for a pod that need not be a fault, however long it takes; "" if nothing is known.
func coming(p *corev1.Pod, binding *v1alpha1.ClusterBinding) string {
	if stuck := pod.StuckOf(p); stuck != nil && stuck.Reason == v1alpha1.ReasonUnschedulable && binding.Spec.VirtualNode.Elastic != nil {
		return "the provider has no node for it yet, and can grow"
	}
	if slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && isPreparing(c.State.Waiting.Reason)
	}) {
		return "the provider pulls the image, or attaches a volume"
	}
	return ""
}

// ofNoNode is the cause if the pod is in the provider, which has no node for it.
func (s Seen) ofNoNode(stuck *pod.Stuck) (cause, mend string) {
	if s.Binding.Spec.VirtualNode.Elastic != nil && stuck.Reason == v1alpha1.ReasonUnschedulable {
		return "the provider has no node for the pod yet: its autoscaler may be starting one", "give it more time: --timeout 15m"
	}
	return "the provider has no node for the pod: " + stuck.Reason, "docs/troubleshooting.md, pods, reason " + stuck.Reason
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
