package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Selectors as large as the API allows.
var (
	// mostBytes has the longest keys and values, and as many as allowed.
	mostBytes = selecting(slices.Repeat([]corev1.NodeSelectorTerm{labels(slices.Repeat(
		[]corev1.NodeSelectorRequirement{in(longKey, slices.Repeat([]string{strings.Repeat("v", 63)}, 2)...)}, 8)...)}, 8)...)
	// mostValues has all its values in few requirements.
	mostValues = selecting(slices.Repeat([]corev1.NodeSelectorTerm{
		labels(in(longKey, slices.Repeat([]string{strings.Repeat("v", 63)}, 64)...)),
	}, 2)...)
	// mostRequirements has as many short requirements as allowed.
	mostRequirements = selecting(slices.Repeat([]corev1.NodeSelectorTerm{both(
		labels(slices.Repeat([]corev1.NodeSelectorRequirement{gpu}, 8)...),
		fields(slices.Repeat([]corev1.NodeSelectorRequirement{notUS}, 4)...),
	)}, 8)...)

	longKey = strings.Repeat(strings.Repeat("d", 61)+".", 4) + "ex/" + strings.Repeat("k", 63)
)

// TestLimits creates pods with more and more terms, for selectors of the maximal size. No pod may be refused,
// and pods of realistic size must meet the policy. The test uses failurePolicy Fail, which makes an error
// visible, such as an exceeded cost budget. As shipped, such a pod would only stay unchanged.
func TestLimits(t *testing.T) {
	needsPolicy(t)
	tests := map[string]struct {
		selector *v1alpha1.ClusterSelector
		// atLeast is how many terms of its own a pod can have and still meet the policy.
		atLeast int
	}{
		"the most bytes":        {selector: mostBytes, atLeast: 4},
		"the most values":       {selector: mostValues, atLeast: 16},
		"the most requirements": {selector: mostRequirements, atLeast: 16},
		"one requirement":       {selector: selecting(labels(eu)), atLeast: 256},
	}
	namespaces := map[string]string{}
	for name, test := range tests {
		namespaces[name] = offloaded(t, &v1alpha1.NamespaceOffloadingSpec{
			PodOffloadingStrategy: v1alpha1.PodsLocalAndRemote, ClusterSelector: test.selector,
		})
	}
	namespace := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsLocalAndRemote})
	failing(t)
	for name, test := range tests {
		for _, terms := range []int{0, 1, 4, 16, 64, 256, 1024, 4096} {
			t.Run(fmt.Sprintf("%s/%d terms", name, terms), func(t *testing.T) {
				pod := newPod(namespaces[name])
				pod.Name = fmt.Sprintf("pod-%d", terms)
				if terms > 0 {
					pod.Spec.Affinity = required(slices.Repeat([]corev1.NodeSelectorTerm{labels(amd, gpu)}, terms)...)
				}
				if err := server(t).Create(t.Context(), pod); err != nil {
					t.Fatalf("%.500s", err)
				}
				changed := toleratesVirtualNodes(pod)
				t.Logf("%d terms in, %d out", terms,
					len(pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms))
				if terms <= test.atLeast && !changed {
					t.Error("the pod is as it was")
				}
			})
		}
	}
	for _, n := range []int{1, 16, 64, 256} {
		for _, refused := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d containers, refused %t", n, refused), func(t *testing.T) {
				pod := manyContainers(namespace, n, refused)
				if err := server(t).Create(t.Context(), pod, client.DryRunAll); err != nil {
					t.Fatalf("%.500s", err)
				}
				if toleratesVirtualNodes(pod) == refused {
					t.Errorf("it tolerates virtual nodes: %t", !refused)
				}
			})
		}
	}
}

// manyContainers is a pod with n containers that the policy has much to check in. If it is to be refused, the
// last container requests a host port.
func manyContainers(namespace string, n int, refused bool) *corev1.Pod {
	pod := newPod(namespace)
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
	pod.Spec.Containers = nil
	for i := range n {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", i), Image: "image", LivenessProbe: probe, ReadinessProbe: probe, StartupProbe: probe,
			Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81}, {ContainerPort: 82}, {ContainerPort: 83}},
			SecurityContext: &corev1.SecurityContext{
				Capabilities:   &corev1.Capabilities{Add: []corev1.Capability{"SYS_CHROOT", "SETUID", "SETPCAP"}},
				SELinuxOptions: &corev1.SELinuxOptions{Type: "container_engine_t"},
			},
		})
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{},
		}})
	}
	if refused {
		pod.Spec.Containers[n-1].Ports[3].HostPort = 83
	}
	return pod
}

// failing sets the policy's failurePolicy to Fail while the test runs. For that time, a missing
// NamespaceOffloading is an error. The change is in effect when a pod is refused because of it.
func failing(t *testing.T) {
	t.Helper()
	plain := newPod(offloaded(t, nil))
	t.Cleanup(func() {
		reshape(t)
		becomes(t, server(t), plain, "")
	})
	reshape(t, func(object *unstructured.Unstructured) {
		switch object.GetKind() {
		case "MutatingAdmissionPolicy":
			set(object, "Fail", "spec", "failurePolicy")
		case "MutatingAdmissionPolicyBinding":
			set(object, "Deny", "spec", "paramRef", "parameterNotFoundAction")
		}
	})
	becomes(t, server(t), plain, "no params found for policy binding")
}
