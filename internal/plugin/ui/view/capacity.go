package view

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// Node is a virtual node.
type Node struct {
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	Cordoned  bool   `json:"cordoned,omitempty"`
	Resources []Use  `json:"resources"`
}

// Use says how much of a resource the pods request that the user may read.
type Use struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Offered  string `json:"offered"`
	Percent  int    `json:"percent"`
}

// Condition is a condition of a ClusterBinding.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	Since   string `json:"since"`
}

// usage is what the pods on one node request.
type usage struct {
	requests corev1.ResourceList
	pods     int64
}

// used adds up what the pods on each virtual node request, without those that have ended.
func (s *Snapshot) used() map[string]*usage {
	used := map[string]*usage{}
	for i := range s.objects.Pods {
		pod := &s.objects.Pods[i]
		if s.nodes[pod.Spec.NodeName] == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		one := used[pod.Spec.NodeName]
		if one == nil {
			one = &usage{requests: corev1.ResourceList{}}
			used[pod.Spec.NodeName] = one
		}
		one.pods++
		for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			sum := one.requests[name]
			sum.Add(quantity)
			one.requests[name] = sum
		}
	}
	return used
}

func nodeOf(node status.Node, offers corev1.ResourceList, used *usage) Node {
	n := Node{Name: node.Name, Ready: node.Ready, Cordoned: node.Unschedulable, Resources: []Use{}}
	if used == nil {
		used = &usage{}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		offered, ok := offers[name]
		if !ok {
			continue
		}
		requested := used.requests[name]
		if name == corev1.ResourcePods {
			requested = *resource.NewQuantity(used.pods, resource.DecimalSI)
		}
		n.Resources = append(n.Resources, Use{Resource: string(name), Used: requested.String(), Offered: offered.String(), Percent: percent(requested, offered)})
	}
	return n
}

// percent is rounded up, so that a little is not nothing.
func percent(used, offered resource.Quantity) int {
	const whole = 100
	of := offered.AsApproximateFloat64()
	if of <= 0 {
		return 0
	}
	share := used.AsApproximateFloat64() / of * whole
	rounded := int(share)
	if float64(rounded) < share {
		rounded++
	}
	return rounded
}

func conditionsOf(bindings []v1alpha1.ClusterBinding, name string) []Condition {
	at := slices.IndexFunc(bindings, func(b v1alpha1.ClusterBinding) bool { return b.Name == name })
	if at < 0 {
		return nil
	}
	var all []Condition
	for _, c := range bindings[at].Status.Conditions {
		all = append(all, Condition{
			Type: c.Type, Status: string(c.Status), Reason: text.Clean(c.Reason), Message: text.Clean(c.Message), Since: c.LastTransitionTime.UTC().Format(layout),
		})
	}
	return all
}
