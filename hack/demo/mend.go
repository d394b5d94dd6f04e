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

// remoteTeam is the team whose pods must all run in a provider.
const remoteTeam = "team-a"

// checkBindings finds everything that prevents the demo's bindings, and returns at once. To wait for them
// would not help.
func (d *demo) checkBindings(ctx context.Context) error {
	var bindings offloadingv1alpha1.ClusterBindingList
	if err := d.consumer.List(ctx, &bindings); err != nil {
		return fmt.Errorf("listing the ClusterBindings: %w", err)
	}
	return inTheWay(bindings.Items)
}

// inTheWay returns an error for each binding that prevents the demo's own. Such a binding binds one of the
// demo's providers under another name, or has one of the demo's names but binds something else.
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

// kubeconfigSecret is the name of the Secret with the credentials of a provider.
func kubeconfigSecret(provider string) string { return provider + "-kubeconfig" }

// bringBack deletes pods that are not where the demo shows them, and lists them. These pods were created in
// the consumer while the team's offloading was deleted. Their Deployment creates them again.
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
		misplaced = append(misplaced, fmt.Errorf("pods of %s, such as %s, were created while it was not offloaded: they are deleted, and created again", remoteTeam, pod.Name))
	}
	return misplaced, nil
}

// atHome returns the pods of controllers that run on the consumer's own nodes, or may be scheduled to one.
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

// mustBeRemote reports whether the admission policy has handled the pod, so that the pod waits for a virtual
// node.
func mustBeRemote(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil &&
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}
