package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
)

// remoteTeam is the one whose pods are all to be in a provider.
const remoteTeam = "team-a"

// checkBindings finds what stands in the way of the demo's bindings, at once:
// waiting for them would end in nothing but time.
func (d *demo) checkBindings(ctx context.Context) error {
	var bindings offloadingv1alpha1.ClusterBindingList
	if err := d.consumer.List(ctx, &bindings); err != nil {
		return fmt.Errorf("listing the ClusterBindings: %w", err)
	}
	return inTheWay(bindings.Items)
}

// inTheWay names the bindings that bind one of the demo's providers under another
// name, and those of the demo's names that are for something else.
func inTheWay(bindings []offloadingv1alpha1.ClusterBinding) error {
	var found []error
	for i := range bindings {
		cb := &bindings[i]
		ours := slices.Contains(providers, cb.Name)
		switch {
		case ours && cb.Spec.ClusterID != cb.Name:
			found = append(found, fmt.Errorf("clusterbinding %s has the clusterID %s, which cannot be changed", cb.Name, cb.Spec.ClusterID))
		case !ours && bindsOurs(cb):
			found = append(found, fmt.Errorf("clusterbinding %s binds a provider of the demo under another name (clusterID %s, Secret %s)",
				cb.Name, cb.Spec.ClusterID, cb.Spec.KubeconfigSecretRef.Name))
		default:
			continue
		}
		found = append(found, fmt.Errorf("  unbind it, and run make demo again: bin/kube/kubectl --kubeconfig bin/demo/%s.kubeconfig delete clusterbinding %s", consumer, cb.Name))
	}
	return errors.Join(found...)
}

func bindsOurs(cb *offloadingv1alpha1.ClusterBinding) bool {
	return slices.ContainsFunc(providers, func(name string) bool {
		return cb.Spec.ClusterID == name || cb.Spec.KubeconfigSecretRef.Name == kubeconfigSecret(name)
	})
}

// kubeconfigSecret is the Secret with the credentials of a provider.
func kubeconfigSecret(provider string) string { return provider + "-kubeconfig" }

// bringBack deletes pods that are not where the demo shows them, and lists them:
// those that were made at home while the team's offloading was deleted. Their
// Deployment makes them anew.
func (d *demo) bringBack(ctx context.Context) ([]error, error) {
	var pods corev1.PodList
	if err := d.consumer.List(ctx, &pods, client.InNamespace(remoteTeam)); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", remoteTeam, err)
	}
	var misplaced []error
	for _, pod := range atHome(pods.Items) {
		if err := d.consumer.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		misplaced = append(misplaced, fmt.Errorf("pods of %s, such as %s, were made while it was not offloaded: they are made anew", remoteTeam, pod.Name))
	}
	return misplaced, nil
}

// atHome are the pods of controllers that live on nodes of the consumer's own, or
// may get onto one.
func atHome(pods []corev1.Pod) []*corev1.Pod {
	var found []*corev1.Pod
	for i := range pods {
		pod := &pods[i]
		live := pod.DeletionTimestamp.IsZero() && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
		if live && metav1.GetControllerOf(pod) != nil && !isVirtual(pod.Spec.NodeName) && !mustBeRemote(pod) {
			found = append(found, pod)
		}
	}
	return found
}

func isVirtual(node string) bool {
	return slices.ContainsFunc(providers, func(name string) bool { return node == offloadingv1alpha1.VirtualNodePrefix+name })
}

// mustBeRemote reports whether the admission policy has seen the pod, so that it
// waits for a virtual node.
func mustBeRemote(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil &&
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}
