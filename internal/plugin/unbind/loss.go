package unbind

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// Tell reports what would be deleted with a binding, and what else would go.
func Tell(ctx context.Context, consumer *cli.Cluster, output *cli.Output, name string) error {
	binding := &v1alpha1.ClusterBinding{}
	if err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
		return fmt.Errorf("reading ClusterBinding %s: %w", name, err)
	}
	steps, err := foreseen(ctx, consumer, binding)
	if err != nil {
		return err
	}
	for _, step := range append(steps, cli.Step{Cluster: "consumer", Object: "clusterbinding.offloading.spillway.io/" + name, Action: deleted}) {
		output.Did(step)
	}
	return nil
}

// losses returns what goes with a binding: the pods on its virtual node, and its remote namespaces.
func losses(ctx context.Context, consumer *cli.Cluster, binding *v1alpha1.ClusterBinding) ([]cli.Step, error) {
	pods, namespaces := &corev1.PodList{}, &v1alpha1.NamespaceMap{}
	if err := OnNodes(ctx, consumer, binding, pods); err != nil {
		return nil, fmt.Errorf("reading the pods on %s, which would be evicted: %w", binding.VirtualNodeName(), err)
	}
	if err := consumer.Get(ctx, client.ObjectKey{Name: binding.Name}, namespaces); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading NamespaceMap %s, which has the remote namespaces: %w", binding.Name, err)
	}
	return loss(binding, pods.Items, namespaces), nil
}

// OnNodes lists the pods on the virtual nodes of a binding.
func OnNodes(ctx context.Context, consumer *cli.Cluster, binding *v1alpha1.ClusterBinding, all *corev1.PodList) error {
	for _, name := range NodesOf(binding) {
		var pods corev1.PodList
		if err := consumer.List(ctx, &pods, client.MatchingFields{"spec.nodeName": name}); err != nil {
			return err
		}
		all.Items = append(all.Items, pods.Items...)
	}
	return nil
}

// NodesOf returns the names of the virtual nodes of a binding.
func NodesOf(binding *v1alpha1.ClusterBinding) []string {
	names := []string{binding.VirtualNodeName()}
	for _, node := range binding.Status.VirtualNodes {
		if node.Name != names[0] {
			names = append(names, node.Name)
		}
	}
	return names
}

// Actions for what goes with a binding.
const (
	evicted = "evicted"
	deleted = "deleted"
	kept    = "kept"
)

// Eviction returns the step of a pod that leaves a virtual node.
func Eviction(pod *corev1.Pod) cli.Step {
	step := cli.Step{Cluster: "consumer", Object: "pod/" + pod.Name, Namespace: pod.Namespace, Action: evicted}
	if metav1.GetControllerOf(pod) == nil {
		step.Message = "it has no controller, and is lost"
	}
	return step
}

// Removal returns the step of a remote namespace that is deleted, in the provider with that clusterID.
func Removal(name, clusterID string) cli.Step {
	return cli.Step{Cluster: "provider", Object: "namespace/" + name, Action: deleted, Message: "with everything in it, in " + clusterID}
}

func loss(binding *v1alpha1.ClusterBinding, pods []corev1.Pod, namespaces *v1alpha1.NamespaceMap) []cli.Step {
	var steps []cli.Step
	drains := binding.Spec.Drains()
	for i := range pods {
		pod := &pods[i]
		if !pod.DeletionTimestamp.IsZero() || eviction.IsDaemonSetPod(pod) {
			continue
		}
		step := Eviction(pod)
		if !drains {
			step.Action, step.Message = deleted, "its node is deleted; the remote pod may still run"
		}
		steps = append(steps, step)
	}
	remote := func(name string) {
		step := Removal(name, binding.Spec.ClusterID)
		if !drains {
			step.Action, step.Message = kept, "the deletionPolicy is "+string(binding.Spec.DeletionPolicy)
		}
		steps = append(steps, step)
	}
	for _, mapped := range namespaces.Status.CurrentMapping {
		if mapped.Phase != v1alpha1.MappingCreationLoopBackOff { // Such a namespace does not exist, or is not ours.
			remote(mapped.RemoteNamespace)
		}
	}
	if meta.IsStatusConditionTrue(binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady) {
		remote(binding.Spec.MountNamespace)
	}
	return steps
}

// summary describes the losses in sentences.
func summary(loss []cli.Step) string {
	leave := 0
	var gone, stay []string
	var forGood []types.NamespacedName
	for _, step := range loss {
		name, namespace := strings.CutPrefix(step.Object, "namespace/")
		switch {
		case !namespace:
			leave++
			if step.Action == evicted && step.Message != "" {
				forGood = append(forGood, types.NamespacedName{Namespace: step.Namespace, Name: strings.TrimPrefix(step.Object, "pod/")})
			}
		case step.Action == kept:
			stay = append(stay, name)
		default:
			gone = append(gone, name)
		}
	}
	text := fmt.Sprintf("Pods removed from its node: %d.", leave)
	if len(forGood) > 0 {
		text += " Lost, because without a controller: " + eviction.Summarise(forGood, nil).String() + "."
	}
	if len(gone) > 0 {
		text += " Remote namespaces deleted with everything in them: " + strings.Join(gone, ", ") + "."
	}
	if len(stay) > 0 {
		text += " Remote namespaces kept unchanged: " + strings.Join(stay, ", ") + "."
	}
	return text
}
