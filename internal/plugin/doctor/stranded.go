package doctor

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// stranded looks for pods that can only run on virtual nodes although their namespace is not offloaded any
// more. The event that reported them is gone after an hour.
func (e *exam) stranded() {
	if e.hidden("stranded", "whether pods wait forever for virtual nodes") {
		return
	}
	by := stranded(e.seen)
	for _, namespace := range slices.Sorted(maps.Keys(by)) {
		e.found(ofStranded(namespace, by[namespace], status.UnlessMounted(e.seen.Hides(status.Bindings))))
	}
	if len(by) == 0 {
		e.found(Finding{Level: OK, Check: "stranded", Message: "no pod needs virtual nodes in a namespace that is not offloaded"})
	}
}

// stranded returns such pods, by namespace: those that wait for a node, and those on a virtual node that are
// not sent from there.
func stranded(seen status.Seen) map[string]eviction.Remaining {
	names := map[string][]types.NamespacedName{}
	for i := range seen.Pods {
		pod := &seen.Pods[i]
		offloaded := slices.ContainsFunc(seen.Offloadings, func(o v1alpha1.NamespaceOffloading) bool { return o.Namespace == pod.Namespace })
		hangs := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == v1alpha1.PodOffloaded && c.Status == corev1.ConditionFalse && c.Reason == v1alpha1.ReasonNamespaceNotOffloaded
		})
		if seen.Strands(pod) || !offloaded && pod.DeletionTimestamp.IsZero() && hangs {
			names[pod.Namespace] = append(names[pod.Namespace], client.ObjectKeyFromObject(pod))
		}
	}
	by := map[string]eviction.Remaining{}
	for namespace, of := range names {
		by[namespace] = eviction.Summarise(of, nil)
	}
	return by
}

func ofStranded(namespace string, pods eviction.Remaining, unless string) Finding {
	return Finding{
		Level: Warning, Check: "stranded", Object: namespace,
		Message: "these pods can run only on virtual nodes, or are on one, but the namespace is not offloaded, so they wait forever" + unless + ": " + pods.String(),
		Mend:    "delete them, and recreate those without a controller; if they come back like this, remove the affinity or toleration from their template, or offload the namespace: kubectl spillway offload " + namespace,
	}
}

// hidden reports whether the user may not read the lists that a check needs, and adds a finding about that.
func (e *exam) hidden(check, what string) bool {
	for _, list := range []string{status.Pods, status.Offloadings} {
		if slices.Contains(e.seen.Hidden, list) {
			e.found(Finding{Level: Warning, Check: check, Message: what + " is unknown: you may not read " + list, Mend: "run doctor as a cluster administrator"})
			return true
		}
	}
	return false
}
