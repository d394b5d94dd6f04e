package stuckpod

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

const nowhere = "no other place of spec.overflow may take it now"

// staysFor returns why a pod is never replaced, or "".
func staysFor(stuck *corev1.Pod) string {
	controller := metav1.GetControllerOfNoCopy(stuck)
	switch {
	case controller == nil:
		return "it has no controller that would create another one"
	case !slices.Contains([]string{"apps/v1 ReplicaSet", "v1 ReplicationController"}, controller.APIVersion+" "+controller.Kind):
		return "its controller is a " + controller.Kind + ", and only pods of a ReplicaSet or a ReplicationController are replaced"
	case claims(stuck):
		return "it uses PersistentVolumeClaims, which may be tied to the provider"
	case admission.Tolerates(stuck, ""): // Only a toleration of all values tolerates none.
		return "it tolerates all virtual nodes, so the next one might go to the same provider"
	}
	return ""
}

func claims(of *corev1.Pod) bool { return len(needs.Claims(of)) > 0 }

// notRoom returns why another pod of the same template would not fit better, or "" if the provider lacks room. What a
// provider refuses for what it is, it would refuse again, and it takes others meanwhile.
func notRoom(stuck *pod.Stuck) string {
	noNode := []string{"Insufficient ", "Too many pods", "no nodes available"}
	signs := map[string][]string{
		v1alpha1.ReasonRejected:      {"exceeded quota: "},
		v1alpha1.ReasonUnschedulable: noNode,
		v1alpha1.ReasonTooBig:        noNode, // Other nodes of the provider do not help it, but another provider may.
	}
	if slices.ContainsFunc(signs[stuck.Reason], func(sign string) bool { return strings.Contains(stuck.Message, sign) }) {
		return ""
	}
	return "the provider does not say that it lacks room for it: " + stuck.Message
}

// Remote returns where the pod is in the provider, or would be.
func Remote(local *corev1.Pod, nso *v1alpha1.NamespaceOffloading, clusterID string) types.NamespacedName {
	if pod.Sent(local) {
		remote := provenance.RemoteOf(local)
		return types.NamespacedName{Namespace: remote.Namespace, Name: remote.Name}
	}
	for i := range nso.Status.RemoteNamespaceConditions {
		if r := &nso.Status.RemoteNamespaceConditions[i]; r.Cluster == clusterID {
			return types.NamespacedName{Namespace: r.RemoteNamespace, Name: local.Name}
		}
	}
	return types.NamespacedName{}
}

// Confirmed reports whether the provider itself still does not run the pod. remote is what it has there now, or nil.
func Confirmed(local, remote *corev1.Pod) bool {
	if !pod.Sent(local) {
		return remote == nil
	}
	return remote != nil && remote.UID == provenance.RemoteOf(local).UID && remote.Spec.NodeName == "" && remote.DeletionTimestamp.IsZero()
}

// Says says what will happen to a pod that its provider refuses or cannot place; empty for other pods. The binding may
// be unknown.
func Says(stuck *corev1.Pod, nso *v1alpha1.NamespaceOffloading, clusterID string, binding *v1alpha1.ClusterBinding) string {
	found := pod.StuckOf(stuck)
	if found == nil || nso == nil || !nso.DeletionTimestamp.IsZero() || binding != nil && !Answers(binding) {
		return ""
	}
	stays := "it stays in provider " + clusterID + " until that can run it: "
	if !nso.Spec.ReplacesUnschedulable() {
		return stays + "only namespaces with spec.overflow and spec.unschedulable replace such pods"
	}
	if !slices.Contains(namespaceoffloading.InTiers(&nso.Status), clusterID) {
		return stays + "it is in no tier of spec.overflow"
	}
	if why := staysFor(stuck); why != "" {
		return stays + why
	}
	if why := notRoom(found); why != "" {
		return stays + "the provider does not say that it lacks room for it"
	}
	return fmt.Sprintf("if it has not started in provider %s at %s, and another place may take it, it is deleted, and %s creates another one",
		clusterID, found.Since.Add(After(nso)).UTC().Format(time.RFC3339), owner(stuck))
}
