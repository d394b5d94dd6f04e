package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/stuckpod"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

// Seen is what is known about a pod. Everything except the pod may be nil.
type Seen struct {
	Pod        *corev1.Pod
	Offloading *v1alpha1.NamespaceOffloading
	// Hidden says that the user may not read the NamespaceOffloading.
	Hidden bool
	// Node is the pod's node. Binding is the binding of the node, if the node is virtual.
	Node    *corev1.Node
	Binding *v1alpha1.ClusterBinding
	// Bindings has all bindings, unless the user may not read them.
	Bindings       placement.Index
	HiddenBindings bool
	Events         []corev1.Event
	Claims         []Claim
	// Nodes are the virtual nodes of the providers that answer, by clusterID, if the pod's provider does not run it; nil:
	// they are unknown.
	Nodes map[string][]*corev1.Node
	Now   time.Time
}

// Claim is a PersistentVolumeClaim that the pod names.
type Claim struct {
	Name string
	// Phase is empty if the claim does not exist.
	Phase  corev1.PersistentVolumeClaimPhase
	Events []corev1.Event
}

// Explanation is what -o json prints.
type Explanation struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Phase     string `json:"phase"`
	// Provider is the clusterID of the provider that has the pod; empty if the pod is in this cluster, or
	// nowhere yet.
	Provider string `json:"provider,omitempty"`
	// Remote is the namespace/name of the remote pod, from its start until it has ended.
	Remote string `json:"remote,omitempty"`
	// Where says where the pod is, and why.
	Where []string `json:"where"`
	// Tiers are those of spec.overflow, and what is known about each for the pod.
	Tiers []tiers.Tier `json:"tiers,omitempty"`
	// Waits is what the pod waits for, the cause first.
	Waits []status.Wait `json:"waits,omitempty"`
	// LeftOut is what the pod has here, but not in the provider.
	LeftOut []string `json:"leftOut,omitempty"`
	// Events are Spillway's events about the pod, the latest last.
	Events []string `json:"events,omitempty"`
}

// Explain says where a pod is and why, what it waits for, and what is not sent.
func Explain(s Seen) Explanation {
	e := Explanation{Namespace: s.Pod.Namespace, Pod: s.Pod.Name, Phase: string(s.Pod.Status.Phase), Waits: status.WaitsOf(s.Pod, s.Events...)}
	e.Tiers = tiers.Tried(s.Pod, s.Offloading, s.Events, s.Now)
	around := s.around()
	switch {
	case s.Pod.Spec.NodeName == "":
		e.Where = s.unplaced()
		e.Waits = slices.Concat(around, e.Waits)
	case !s.virtual():
		e.Where = s.local()
	default:
		e.remote(s)
		e.Waits = slices.Concat(e.Waits, around)
	}
	e.Waits = append(e.Waits, s.claims()...)
	for _, c := range s.Pod.Status.Conditions {
		if string(c.Type) == v1alpha1.PodOffloaded && c.Status == corev1.ConditionTrue && c.Message != "" {
			e.LeftOut = append(e.LeftOut, text.Clean(c.Message))
		}
	}
	for i := range s.Events {
		if event := &s.Events[i]; status.Ours(event) {
			e.tell(status.NewWait("", event.Reason, event.Message).String())
		}
	}
	return e
}

// tell adds what an event says, unless that has been said before: by another event, or by what the pod waits for.
func (e *Explanation) tell(event string) {
	if !slices.Contains(e.Events, event) && !slices.ContainsFunc(e.Waits, func(wait status.Wait) bool { return strings.HasSuffix(wait.String(), event) }) {
		e.Events = append(e.Events, event)
	}
}

func (s Seen) virtual() bool {
	if s.Node == nil {
		return strings.HasPrefix(s.Pod.Spec.NodeName, v1alpha1.VirtualNodePrefix)
	}
	return s.Node.Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual
}

func (s Seen) strategy() v1alpha1.PodOffloadingStrategy {
	if s.Offloading == nil {
		return v1alpha1.PodsLocal
	}
	return s.Offloading.Spec.PodOffloadingStrategy
}

// rule says where pods of the namespace may run.
func (s Seen) rule() string {
	namespace := "namespace " + s.Pod.Namespace
	switch {
	case s.Hidden:
		return "you may not read the NamespaceOffloading of " + namespace
	case s.Offloading == nil && unscheduledpod.Strands(s.Pod, s.Bindings):
		return fmt.Sprintf("%s is not offloaded, but the pod can run only on virtual nodes, and its affinity is immutable: delete and recreate it, or kubectl spillway offload %s%s",
			namespace, s.Pod.Namespace, status.UnlessMounted(s.HiddenBindings))
	case s.Offloading == nil && s.Pod.Spec.NodeName == "" && unscheduledpod.OnlyVirtual(s.Pod):
		return namespace + " is not offloaded: the pod waits for the virtual node of a binding that has a mountNamespace"
	case s.Offloading == nil && s.virtual():
		return namespace + " is not offloaded"
	case s.Offloading == nil:
		return fmt.Sprintf("%s is not offloaded, so its pods run in this cluster; to change that: kubectl spillway offload %s", namespace, s.Pod.Namespace)
	case !s.Offloading.DeletionTimestamp.IsZero():
		return namespace + " is leaving the providers: its NamespaceOffloading is being deleted"
	}
	return "the NamespaceOffloading of " + namespace + " says " + string(s.strategy()) + ": " + s.places()
}

// places says where new pods run.
func (s Seen) places() string {
	switch strategy := s.strategy(); {
	case s.ordered():
		return "new pods use the tiers of spec.overflow in order"
	case strategy == v1alpha1.PodsRemote:
		return "new pods run only in a provider"
	case strategy == v1alpha1.PodsLocalFirst:
		return "new pods run here, or in a provider if there is no room"
	case strategy == v1alpha1.PodsLocalAndRemote:
		return "the scheduler picks this cluster or a provider"
	default:
		return "pods run here"
	}
}

// ordered reports whether the offloading has tiers.
func (s Seen) ordered() bool { return s.Offloading != nil && len(s.Offloading.Spec.Overflow) > 0 }

// excluded says why a pod of an offloaded namespace may not go to a virtual node, or "".
func (s Seen) excluded() string {
	if s.Offloading == nil || s.strategy() == v1alpha1.PodsLocal {
		return ""
	}
	if eviction.IsDaemonSetPod(s.Pod) {
		switch {
		case s.Pod.Annotations[v1alpha1.AnnotationOffloadDaemonSet] != v1alpha1.OffloadTrue:
			return fmt.Sprintf("it is a DaemonSet pod, which runs on ordinary nodes only, unless it has the annotation %s=%s", v1alpha1.AnnotationOffloadDaemonSet, v1alpha1.OffloadTrue)
		case !tolerates(s.Pod):
			return "it is a DaemonSet pod, and does not tolerate the taint " + v1alpha1.TaintVirtualNode + ": its DaemonSet must add the toleration"
		}
	}
	if !tolerates(s.Pod) {
		text := "it does not tolerate the taint " + v1alpha1.TaintVirtualNode + ": "
		if s.Pod.CreationTimestamp.Before(&s.Offloading.CreationTimestamp) {
			return text + "it was created before the namespace was offloaded; new pods tolerate it"
		}
		if s.strategy() != v1alpha1.PodsRemote && len(needs.Claims(s.Pod)) > 0 {
			return text + "it uses PersistentVolumeClaims, and gets the toleration once all are bound to volumes that can be sent, and this cluster has no room"
		}
		if s.ordered() {
			return ""
		}
		return text + "the policy spillway-pods did not change it: either the pod cannot run in a provider, or the API server does not serve the policy; see kubectl spillway doctor"
	}
	return ""
}

func tolerates(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == v1alpha1.TaintVirtualNode || t.Key == "" && t.Operator == corev1.TolerationOpExists) && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
	})
}

func (s Seen) unplaced() []string {
	return nonEmpty("it has no node yet", s.rule(), s.excluded())
}

func (s Seen) local() []string {
	return nonEmpty("it is on node "+s.Pod.Spec.NodeName+" of this cluster", s.rule(), s.excluded())
}

func (e *Explanation) remote(s Seen) {
	e.Provider = v1alpha1.ClusterIDOf(s.Pod.Spec.NodeName)
	e.Where = nonEmpty("it is on the virtual node "+s.Pod.Spec.NodeName+", which is the provider "+e.Provider, s.lastKnown(e.Provider), s.rule(), s.returns())
	stuck := stuckpod.Snapshot{Pod: s.Pod, Binding: s.Binding, Offloading: s.Offloading, Nodes: s.Nodes, Now: s.Now}
	if s.Node != nil {
		stuck.Group, _ = field.ParseGroup(s.Node.Annotations[v1alpha1.AnnotationGroup])
	}
	if says := stuckpod.Says(stuck, e.Provider); says != "" {
		e.Where = append(e.Where, says)
	}
	if !pod.Sent(s.Pod) {
		e.Where = append(e.Where, "it has not started there yet")
		return
	}
	annotations := s.Pod.Annotations
	remote := annotations[v1alpha1.AnnotationRemoteNamespace] + "/" + annotations[v1alpha1.AnnotationRemoteName]
	if was := s.was(e.Provider); was != "" {
		e.Where = append(e.Where, "the remote pod was "+remote+was)
		return
	}
	e.Remote = remote
	text := "the remote pod is " + e.Remote
	if ip := annotations[v1alpha1.AnnotationRemoteIP]; ip != "" {
		text += ", with the address " + ip
	}
	if at := annotations[v1alpha1.AnnotationLastSyncTime]; at != "" {
		text += "; its status was last written at " + at
	}
	e.Where = append(e.Where, text)
	if annotations[v1alpha1.AnnotationRemoteIP] != "" && s.Pod.Status.PodIP == "" && s.Pod.Status.Phase == corev1.PodRunning {
		e.Where = append(e.Where, unreached)
	}
}

const unreached = "no route leads to that address from here, as far as the ClusterBinding says: Services and Ingresses of this cluster send the pod nothing; docs/applications.md, who reaches whom"

func nonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(one string) bool { return one == "" })
}

// Text returns the explanation for people.
func Text(e Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s/%s: %s\n", e.Namespace, e.Pod, e.Phase)
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintln(&b, title)
		for _, one := range lines {
			fmt.Fprintln(&b, "  - "+one)
		}
	}
	section("where it is, and why:", e.Where)
	var order []string
	for _, tier := range e.Tiers {
		order = append(order, tier.String())
	}
	section("the tiers of spec.overflow:", order)
	var waits []string
	for _, wait := range e.Waits {
		waits = append(waits, wait.String())
	}
	section("what it waits for, or what is wrong:", waits)
	section("what is not sent to the provider:", e.LeftOut)
	section("events:", e.Events)
	return b.String()
}
