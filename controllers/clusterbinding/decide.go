package clusterbinding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer/endpoint"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/definitions"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// snapshot is the input of Decide.
type snapshot struct {
	Binding *v1alpha1.ClusterBinding
	// Holder is the name of the ClusterBinding that holds the clusterID.
	Holder string
	// Credentials is what is wrong with the Secret, or nil.
	Credentials *field.Problem
	// Validity is when the credentials in the Secret can be used.
	Validity validity
	Now      time.Time
	// Connection is the state of the connection.
	Connection connection.State
	// Node is the virtual node that the conditions are about, or somebody else's Node with its name, or nil.
	Node *corev1.Node
	// Virtual are all virtual nodes of the binding, sorted by name. Holds reports whether pods keep one, or may keep it;
	// nil: none do.
	Virtual []*corev1.Node
	Holds   func(node string) bool
	// NamespaceMap is the binding's NamespaceMap, or nil.
	NamespaceMap *v1alpha1.NamespaceMap
	// Bindings are all bindings, and Nodes all nodes of the consumer, if a decision depends on them.
	Bindings placement.Index
	Nodes    []corev1.Node
	// PolicyServed reports whether the consumer can run the admission policy.
	PolicyServed bool
	// Webhook is what the API server needs to call the webhook, or nil if it is off.
	Webhook *Webhook
	// WritesRefused says which writes the consumer refuses, and why; "" if none.
	WritesRefused string
	// ConsumerAPI is the last verdict about the address in spec.consumerAPI.
	ConsumerAPI endpoint.Verdict
	// Skew is how the kinds in the consumer differ from the kinds of this version; nil: not known yet.
	Skew *definitions.Skew
}

// Duplicate reports whether another ClusterBinding holds the clusterID.
func (s snapshot) Duplicate() bool { return s.Holder != "" && s.Holder != s.Binding.Name }

// OwnsNode reports whether the node is the virtual node of this binding.
func (s snapshot) OwnsNode() bool { return s.Node != nil && metav1.IsControlledBy(s.Node, s.Binding) }

// Decide computes the status. It does not change what is not known yet, so a manager that has just started
// writes nothing.
func Decide(s snapshot) v1alpha1.ClusterBindingStatus {
	before := s.Binding.Status
	status := *before.DeepCopy()
	status.ObservedGeneration = s.Binding.Generation
	if !s.Duplicate() {
		identify(s.Connection, &status)
	}
	if s.Connection.Version != "" {
		status.KubernetesVersion = s.Connection.Version
	}
	if supersedes(s.Connection.Holder, status.Holder) {
		status.Holder = s.Connection.Holder
	}
	status.Namespaces = namespaceCounts(s.NamespaceMap)
	status.CredentialsExpirationTime = expirationTime(s)
	status.VirtualNodes = virtualNodes(s)
	for _, decide := range []func(snapshot) *metav1.Condition{credentialsValid, connected, fenced, virtualNodeReady, limitsKnown, podAdmission, reach} {
		if c := decide(s); c != nil {
			conditions.Set(&status.Conditions, s.Binding.Generation, *c)
		}
	}
	setLimited(s, &status)
	setClock(s, &status)
	setClasses(s, &status)
	setConsumerAPI(s, &status)
	setWritesRefused(s, &status)
	setVersionSkew(s, &status)
	share(s, &status)
	conditions.Set(&status.Conditions, s.Binding.Generation, ready(s, status.Conditions))
	if s.Binding.DeletionTimestamp.IsZero() {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingDrained)
	}
	heartbeat(&status, before, s.Connection)
	return status
}

// supersedes reports whether to record this holder instead of the recorded one. An older one is never
// recorded: the recorded generation keeps a manager with an older state from writing in the provider. A
// recorded holder without an identity comes from an API server that did not know the field.
func supersedes(now, before v1alpha1.HolderStatus) bool {
	return now.Generation > before.Generation || now.Generation == before.Generation && before.Identity == ""
}

// identify pins the provider's identity, and records the certificate authority that vouches for it.
func identify(link connection.State, status *v1alpha1.ClusterBindingStatus) {
	status.RemoteClusterUID = cmp.Or(status.RemoteClusterUID, link.UID)
	known := status.RemoteClusterAuthorities
	if link.UID == "" || link.UID != status.RemoteClusterUID || link.Authority == "" || slices.Contains(known, link.Authority) {
		return
	}
	// Authorities that the provider no longer uses stay. When the provider replaces one, two bindings may see
	// the new one days apart. The limit keeps a provider from adding authorities without end.
	if len(known) < v1alpha1.MaxRemoteClusterAuthorities {
		status.RemoteClusterAuthorities = append(slices.Clone(known), link.Authority)
	}
}

// heartbeat records when the provider last answered, whenever the condition Connected changes. Recording each
// probe would cost a write every few seconds.
func heartbeat(status *v1alpha1.ClusterBindingStatus, before v1alpha1.ClusterBindingStatus, link connection.State) {
	was := meta.FindStatusCondition(before.Conditions, v1alpha1.BindingConnected)
	is := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingConnected)
	if !link.LastContact.IsZero() && !equality.Semantic.DeepEqual(was, is) {
		status.LastHeartbeatTime = ptr.To(metav1.NewTime(link.LastContact))
	}
}

func namespaceCounts(nsm *v1alpha1.NamespaceMap) v1alpha1.NamespaceCounts {
	var desired, ready int32
	if nsm != nil {
		desired = int32(min(len(nsm.Spec.DesiredMapping), 1<<30)) //nolint:gosec // Bounded just here.
		// The map's status is slightly older than its spec, which may have fewer entries by now.
		ready = min(ptr.Deref(nsm.Status.Ready, 0), desired)
	}
	return v1alpha1.NamespaceCounts{Desired: &desired, Ready: &ready, Summary: fmt.Sprintf("%d/%d", ready, desired)}
}

func connected(s snapshot) *metav1.Condition {
	switch {
	case s.Duplicate():
		return condition(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonDuplicateClusterID, "not connected, because another ClusterBinding holds the clusterID")
	case s.Credentials != nil || s.Connection.CredentialsRefused():
		return condition(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonCredentialsInvalid, "see the condition CredentialsValid")
	case s.Connection.Phase == connection.Connected:
		return condition(v1alpha1.BindingConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected, "")
	case s.Connection.Phase == connection.Disconnected:
		return condition(v1alpha1.BindingConnected, metav1.ConditionFalse, s.Connection.Reason, s.Connection.Message)
	case !s.Connection.Untried && refusedBefore(s):
		return nil
	default:
		return unlessDecided(s, v1alpha1.BindingConnected, "connecting for the first time",
			append([]string{v1alpha1.ReasonConnected, v1alpha1.ReasonUnreachable, v1alpha1.ReasonWrongCA, v1alpha1.ReasonIdentityChanged, v1alpha1.ReasonSameCluster,
				v1alpha1.ReasonStartFailed, v1alpha1.ReasonTooLarge}, fences...)...)
	}
}

// fenced reports on the Lease in the provider. While nothing is known about it, the last verdict stays.
func fenced(s snapshot) *metav1.Condition {
	switch fence := s.Connection.Fence; {
	case s.Connection.Phase == connection.Disconnected && isFence(s.Connection.Reason):
		return condition(v1alpha1.BindingFenced, metav1.ConditionFalse, s.Connection.Reason, "see the condition Connected")
	case s.Connection.Phase != connection.Connected || fence.Reason == "":
		return nil
	case fence.Reason == v1alpha1.ReasonLeaseHeld:
		return condition(v1alpha1.BindingFenced, metav1.ConditionTrue, v1alpha1.ReasonLeaseHeld, "")
	case fence.Reason == v1alpha1.ReasonLeaseNotRenewed:
		return condition(v1alpha1.BindingFenced, metav1.ConditionFalse, fence.Reason, fence.Message)
	default:
		return condition(v1alpha1.BindingFenced, metav1.ConditionFalse, fence.Reason,
			fence.Message+"; a second manager for this cluster would go unnoticed: apply this version's provider.yaml")
	}
}

// limitsKnown reports whether the provider's limits are known. While the provider is
// not connected, the last verdict stays.
func limitsKnown(s snapshot) *metav1.Condition {
	switch known := s.Connection.Limits; {
	case s.Connection.Phase != connection.Connected || known.Reason == "":
		return nil
	case known.Reason == v1alpha1.ReasonLimitsRead:
		return condition(v1alpha1.BindingLimitsKnown, metav1.ConditionTrue, known.Reason, known.Message)
	default:
		return condition(v1alpha1.BindingLimitsKnown, metav1.ConditionFalse, known.Reason, known.Message)
	}
}

// fences are the reasons to refuse a provider because of its Lease.
var fences = []string{v1alpha1.ReasonHeldByAnother, v1alpha1.ReasonTakeOverNeeded, v1alpha1.ReasonLeaseNotRenewed, v1alpha1.ReasonLeaseConflict, v1alpha1.ReasonLeaseForbidden, v1alpha1.ReasonLeaseUnavailable, v1alpha1.ReasonHolderNotRecorded}

func isFence(reason string) bool { return slices.Contains(fences, reason) }

// unlessDecided returns the condition with the reason Connecting, or nil if one of the verdicts still
// applies.
func unlessDecided(s snapshot, kind, message string, verdicts ...string) *metav1.Condition {
	if slices.Contains(verdicts, conditions.Reason(s.Binding.Status.Conditions, kind)) {
		return nil
	}
	return condition(kind, metav1.ConditionUnknown, v1alpha1.ReasonConnecting, message)
}

func virtualNodeReady(s snapshot) *metav1.Condition {
	switch {
	case s.Duplicate():
		return condition(v1alpha1.BindingVirtualNodeReady, metav1.ConditionFalse, v1alpha1.ReasonDuplicateClusterID, "no virtual node, because another ClusterBinding holds the clusterID")
	case s.Node == nil:
		return condition(v1alpha1.BindingVirtualNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodePending, "the virtual node does not exist yet")
	case !s.OwnsNode():
		return condition(v1alpha1.BindingVirtualNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeNameConflict,
			fmt.Sprintf("Node %s exists, but does not belong to this ClusterBinding, and is left alone", s.Node.Name))
	}
	for _, c := range s.Node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			if c.Reason == v1alpha1.ReasonNoUsableNodes {
				return condition(v1alpha1.BindingVirtualNodeReady, metav1.ConditionTrue, c.Reason, c.Message)
			}
			return condition(v1alpha1.BindingVirtualNodeReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady, noCapacityMessage(s))
		}
	}
	return condition(v1alpha1.BindingVirtualNodeReady, metav1.ConditionFalse, v1alpha1.ReasonNodeNotReady,
		fmt.Sprintf("Node %s is not Ready", s.Node.Name))
}

func reach(s snapshot) *metav1.Condition {
	if s.Duplicate() {
		return condition(v1alpha1.BindingNetwork, metav1.ConditionUnknown, v1alpha1.ReasonDuplicateClusterID, "not checked")
	}
	c := network.Condition(s.Binding, s.Bindings, s.Nodes)
	return &c
}

// ready summarises the conditions. The first problem provides the reason.
func ready(s snapshot, all []metav1.Condition) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return conditions.New(v1alpha1.BindingReady, metav1.ConditionFalse, reason, message)
	}
	switch {
	case !s.Binding.DeletionTimestamp.IsZero():
		return no(v1alpha1.ReasonDeleting, "the ClusterBinding is being deleted; see the condition Drained")
	case s.Duplicate():
		return no(v1alpha1.ReasonDuplicateClusterID, fmt.Sprintf("clusterID %s is held by ClusterBinding %s, which is older", s.Binding.Spec.ClusterID, s.Holder))
	case s.Binding.Spec.Paused:
		return no(v1alpha1.ReasonPaused, "spec.paused is set: nothing is written to the provider")
	}
	kinds := []string{v1alpha1.BindingCredentialsValid, v1alpha1.BindingConnected, v1alpha1.BindingLimitsKnown, v1alpha1.BindingVirtualNodeReady}
	if s.Binding.Spec.MountNamespace != "" {
		kinds = append(kinds, v1alpha1.BindingMountNamespaceReady)
	}
	for _, kind := range kinds {
		c := meta.FindStatusCondition(all, kind)
		if c == nil && kind == v1alpha1.BindingMountNamespaceReady {
			c = mountnamespace.Pending()
		}
		if c != nil && c.Status == metav1.ConditionUnknown && kind == v1alpha1.BindingCredentialsValid {
			continue // The provider does not answer; Connected says why.
		}
		if c != nil && c.Status != metav1.ConditionTrue {
			return no(c.Reason, strings.TrimSpace(c.Message))
		}
	}
	return conditions.New(v1alpha1.BindingReady, metav1.ConditionTrue, v1alpha1.ReasonReady, "")
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) *metav1.Condition {
	c := conditions.New(kind, status, reason, message)
	return &c
}
