package explain

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/stuckpod"
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
	// Provider is the clusterID of the provider that has its volume; empty if none has. Cordoned says that all virtual nodes
	// of that provider are cordoned.
	Provider string
	Cordoned bool
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
		e.Where = append(s.unplaced(), volumes(s.Claims, s.Bindings)...)
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
