package stuckpod

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/successor"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

const nowhere = "no other place of spec.overflow may take it now"

// notRoom returns why another pod of the same template would not fit better, or "" if the provider lacks room. What a
// provider refuses for what it is, it would refuse again, and it takes others meanwhile.
func notRoom(stuck *pod.Stuck) string {
	if stuck.LacksRoom() {
		return ""
	}
	return whyNotRoom(stuck) + ": " + stuck.Message
}

// whyNotRoom says why that is no lack of room.
func whyNotRoom(stuck *pod.Stuck) string {
	if stuck.IsApart() {
		return "the provider has room for others, but affinity or topology spread keeps it off each node"
	}
	return "the provider does not say that it lacks room for it"
}

// Waits reports whether a pod is replaced as soon as another place may take it: its provider has no room for it.
func Waits(of *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	stuck := pod.StuckOf(of)
	return stuck != nil && stuck.LacksRoom() && nso.Spec.ReplacesUnschedulable() && successor.Stays(of) == ""
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

// Says says what will happen to a pod that the provider with that clusterID refuses or cannot place; empty for other
// pods. Without Nodes it is unknown which other places may take it, and without a Binding whether its provider can grow.
func Says(s Snapshot, clusterID string) string {
	found, nso := pod.StuckOf(s.Pod), s.Offloading
	if found == nil || nso == nil || !nso.DeletionTimestamp.IsZero() || s.Binding != nil && !namespaceoffloading.Answers(s.Binding) {
		return ""
	}
	stays := "it stays in provider " + clusterID + " until that can run it: "
	if !pod.Sent(s.Pod) {
		stays = "it waits for provider " + clusterID + ": "
	}
	if !nso.Spec.ReplacesUnschedulable() {
		return stays + "only namespaces with spec.overflow and spec.unschedulable replace such pods"
	}
	if !slices.Contains(namespaceoffloading.InTiers(&nso.Status), clusterID) {
		return stays + "it is in no tier of spec.overflow"
	}
	if why := successor.Stays(s.Pod); why != "" {
		return stays + why
	}
	if notRoom(found) != "" {
		return stays + whyNotRoom(found)
	}
	if may, _ := elsewhere(s, clusterID, spill.Read(nso), spill.SizeOf(s.Pod)); s.Nodes != nil && !may {
		return stays + nowhere
	}
	waits, by, later := until(s, found, nso)
	return fmt.Sprintf("%sif it has not started in provider %s at %s%s, and another place may take it, it is deleted, and %s creates another one",
		waits, clusterID, by.UTC().Format(time.RFC3339), later, owner(s.Pod))
}

// until says what the pod waits for, the time at which it is given up, and whether that can be later.
func until(s Snapshot, found *pod.Stuck, nso *v1alpha1.NamespaceOffloading) (waits string, by time.Time, later string) {
	growth := s.growth(found)
	switch by = found.Since.Add(growth.Patience(After(nso))); {
	case found.Declined() && (growth.After > 0 || s.Binding == nil): // Only a provider that can grow has an autoscaler that says so.
		return "the autoscaler of the provider starts no node for it; ", s.Now, ""
	case growth.After > 0:
		return "it waits for a new node; ", by, ""
	case s.Binding == nil && found.Reason == v1alpha1.ReasonUnschedulable:
		return "", by, ", or later if the provider can grow"
	}
	return "", by, ""
}
