package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

var _ = Describe("A pod on a virtual node that is not sent", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("is in a namespace that is not offloaded, until it is", func() {
		namespace := home.newNamespace()
		home.takesPods(namespace)
		t.sweepAfterwards(namespace)
		pod := home.runPod(t.cb, namespace)
		t.staysHome(pod, v1alpha1.ReasonNamespaceNotOffloaded,
			"namespace "+namespace+" is not offloaded to cluster "+t.cb.Spec.ClusterID, "create a NamespaceOffloading")
		home.offload(namespace, selecting(labelSpec, t.spec))
		Expect(t.goesOn(pod).Namespace).To(Equal(remoteName(namespace)))
	})

	It("exceeds what pod security baseline allows", func() {
		pod := t.run(func(pod *corev1.Pod) {
			pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		})
		t.staysHome(pod, field.ReasonPodSecurity, "spec.containers[app].securityContext.privileged")
	})

	It("is one of a DaemonSet, until it is annotated", func() {
		set := newDaemonSet(t)
		home.create(set)
		var pod *corev1.Pod
		Eventually(func(g Gomega) {
			var pods corev1.PodList
			g.Expect(home.List(ctx, &pods, client.InNamespace(t.namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels))).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(1))
			pod = &pods.Items[0]
		}).Should(Succeed(), "the DaemonSet should have a pod for the virtual node")
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: t.cb.VirtualNodeName()}}
		Expect(home.SubResource("binding").Create(ctx, pod, binding)).To(Succeed())
		t.staysHome(pod, field.ReasonDaemonSetPod, "annotate the pod with "+v1alpha1.AnnotationOffloadDaemonSet+"="+v1alpha1.OffloadTrue)

		change(home, pod, func(pod *corev1.Pod) {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationOffloadDaemonSet, v1alpha1.OffloadTrue)
		})
		t.goesOn(pod)
	})
})

// newDaemonSet has one pod, for the virtual node of the team.
func newDaemonSet(t team) *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{labelSpec: t.spec},
					Tolerations:  []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}},
					Containers:   []corev1.Container{{Name: "app", Image: "example.com/agent:1"}},
				},
			},
		},
	}
}
