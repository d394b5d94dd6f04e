package doctor

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/field/text"
)

// strays looks for pods of Remote namespaces on ordinary nodes, which were not prepared at admission. The
// event that reported them is gone after an hour.
func (e *exam) strays() {
	if e.hidden("strays", "whether pods of Remote namespaces run here") {
		return
	}
	found := false
	for i := range e.seen.Offloadings {
		if names := strayed(&e.seen.Offloadings[i], e.seen.Local); len(names) > 0 {
			found = true
			e.found(ofStrays(e.seen.Offloadings[i].Namespace, names))
		}
	}
	if !found {
		e.found(Finding{Level: OK, Check: "strays", Message: "no pod of a Remote namespace runs on nodes of this cluster because the policy or the webhook missed it"})
	}
}

// strayed returns the names of such pods in one namespace.
func strayed(offloading *v1alpha1.NamespaceOffloading, pods []corev1.Pod) []string {
	var names []string
	for i := range pods {
		pod := &pods[i]
		if pod.Namespace == offloading.Namespace && pod.Spec.NodeName != "" && !strings.HasPrefix(pod.Spec.NodeName, v1alpha1.VirtualNodePrefix) &&
			unscheduledpod.LocalNodeWarning(pod, offloading) != "" {
			names = append(names, pod.Name)
		}
	}
	return names
}

// shown is how many names a finding has.
const shown = 5

func ofStrays(namespace string, names []string) Finding {
	return Finding{
		Level: Warning, Check: "strays", Object: namespace,
		Message: "podOffloadingStrategy is Remote, but these pods run on nodes of this cluster, because " + v1alpha1.PodAdmissionName + " did not change them at admission: " + text.Few(names, shown),
		Mend:    "check that the condition PodAdmission of the bindings is True, and delete these pods to recreate them",
	}
}
