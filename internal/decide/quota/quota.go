// Package quota decides, without any I/O, which pods may be sent to a provider whose ClusterBinding has spec.quota, and
// how much of it is used.
//
// A pod counts from when it may be sent until it has ended or is gone from the consumer. What was sent is never taken
// back. A Book has the pods of one connection. When there is room again, it gives that to the oldest pod that waits and
// fits: a pod that is too large for what is left holds up no smaller one.
package quota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Entry is an item of spec.quota.
type Entry struct {
	Name     string
	hard     Amounts
	selector labels.Selector
}

// Entries returns the items of spec.quota of a binding. One whose selector is not valid, which the API server refuses,
// holds for all namespaces: better too little is sent than too much.
func Entries(binding *v1alpha1.ClusterBinding) []Entry {
	var all []Entry
	for i := range binding.Spec.Quota {
		q := &binding.Spec.Quota[i]
		selector, err := metav1.LabelSelectorAsSelector(q.NamespaceSelector.LabelSelector())
		if err != nil {
			selector = labels.Everything()
		}
		all = append(all, Entry{Name: q.Name, hard: allowed(q.Hard), selector: selector})
	}
	return all
}

// For returns the indices of the entries that hold for a namespace with these labels.
func For(entries []Entry, of map[string]string) []int {
	var all []int
	for i := range entries {
		if entries[i].selector.Matches(labels.Set(of)) {
			all = append(all, i)
		}
	}
	return all
}

// Shortage is why a pod is not sent: the first resource of the first quota that it would exceed.
type Shortage struct {
	Quota                string
	Resource             corev1.ResourceName
	Requests, Used, Hard string
	// Kept is what older pods wait for. It is empty if the pod would not fit without them either.
	Kept string
}

// short returns the shortage if a pod of that size came to what an entry has used, or nil. A pod that requests nothing of
// a resource does not exceed it, even if too much of it is used.
func (e *Entry) short(used, size Amounts) *Shortage {
	for _, name := range size.shared(e.hard) {
		if size[name] > 0 && used[name] > e.hard[name]-size[name] {
			return &Shortage{Quota: e.Name, Resource: name, Requests: text(size, name), Used: text(used, name), Hard: text(e.hard, name)}
		}
	}
	return nil
}

func text(of Amounts, name corev1.ResourceName) string {
	quantity := of.Quantity(name)
	return quantity.String()
}

// numbers separates what stays the same in a message from the numbers that change with each pod.
const numbers = ", and "

// Message says it. Unchanged compares such messages.
func (s *Shortage) Message(binding string) string {
	said := fmt.Sprintf("quota %s of ClusterBinding %s: the pod requests %s %s%s%s of %s are used", s.Quota, binding, s.Requests, s.Resource, numbers, s.Used, s.Hard)
	if s.Resource == corev1.ResourcePods { // Each requests one.
		said = fmt.Sprintf("quota %s of ClusterBinding %s allows %s pods%s%s are used", s.Quota, binding, s.Hard, numbers, s.Used)
	}
	if s.Kept != "" {
		said += fmt.Sprintf("; older pods wait for %s", s.Kept)
	}
	return said
}
