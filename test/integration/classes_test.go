package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("The classes of a ClusterBinding", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("give a pod the provider's names; without its RuntimeClass it waits, and goes on by itself", func() {
		here, there := metav1.ObjectMeta{Name: unique("here")}, metav1.ObjectMeta{Name: unique("there")}
		for plane, meta := range map[*controlPlane]metav1.ObjectMeta{home: here, eu: there} {
			plane.make(&nodev1.RuntimeClass{ObjectMeta: meta, Handler: "sandbox"})
			plane.make(&schedulingv1.PriorityClass{ObjectMeta: meta, Value: 7})
		}
		before := eu.limits()
		DeferCleanup(func() {
			change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data })
		})
		eu.limit("priorityClasses", there.Name)

		classed := func(pod *corev1.Pod) { pod.Spec.PriorityClassName = here.Name }
		_, remote := t.running(classed)
		Expect(remote.Spec.PriorityClassName).To(BeEmpty())
		pod := t.run(classed, func(pod *corev1.Pod) { pod.Spec.RuntimeClassName = &here.Name })
		t.staysHome(pod, v1alpha1.ReasonClassNotMapped, "spec.runtimeClassName", here.Name, "spec.classes")

		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			for _, kind := range []v1alpha1.ClassKind{v1alpha1.ClassPriority, v1alpha1.ClassRuntime} {
				cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: kind, Name: here.Name, RemoteName: there.Name})
			}
		})
		remote = t.goesOn(pod)
		Expect(remote.Spec.RuntimeClassName).To(HaveValue(Equal(there.Name)))
		Expect(remote.Spec.PriorityClassName).To(Equal(there.Name))
	})
})
