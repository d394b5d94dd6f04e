package clusters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodesTimeout bounds the wait for nodes. kwok makes them Ready within a second or two.
const nodesTimeout = time.Minute

// ensureNodes creates nodes for kwok, and waits until all are Ready.
func (c *Cluster) ensureNodes(ctx context.Context, nodes []Node) error {
	for _, n := range nodes {
		node, err := n.object()
		if err != nil {
			return fmt.Errorf("node %s of cluster %s: %w", n.Name, c.Name, err)
		}
		_, err = c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating node %s in cluster %s: %w", n.Name, c.Name, err)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	err := poll(ctx, nodesTimeout, func(ctx context.Context) error { return c.nodesReady(ctx, nodes) })
	if err != nil {
		return fmt.Errorf("waiting for the nodes of cluster %s: %w\n%s", c.Name, err, c.logTail(KwokController))
	}
	return nil
}

// nodesReady lists once, for any number of nodes.
func (c *Cluster) nodesReady(ctx context.Context, nodes []Node) error {
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: KwokNodeLabel + "=" + KwokNodeValue})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	ready := map[string]bool{}
	for _, node := range list.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				ready[node.Name] = condition.Status == corev1.ConditionTrue
			}
		}
	}
	var missing []error
	for _, n := range nodes {
		if !ready[n.Name] {
			missing = append(missing, fmt.Errorf("node %s is not Ready", n.Name))
		}
	}
	return errors.Join(missing...)
}

// object returns the Node as kwok needs it: with the label that Options promise, and an annotation for
// people.
func (n Node) object() (*corev1.Node, error) {
	resources := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]string{
		corev1.ResourceCPU:    cmp.Or(n.CPU, "32"),
		corev1.ResourceMemory: cmp.Or(n.Memory, "256Gi"),
		corev1.ResourcePods:   cmp.Or(n.Pods, "110"),
	} {
		parsed, err := resource.ParseQuantity(quantity)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", name, quantity, err)
		}
		resources[name] = parsed
	}
	labels := map[string]string{
		corev1.LabelHostname:   n.Name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}
	maps.Copy(labels, n.Labels)
	labels[KwokNodeLabel] = KwokNodeValue
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        n.Name,
			Labels:      labels,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}, nil
}
