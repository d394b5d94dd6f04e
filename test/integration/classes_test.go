package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/translate"
)

var _ = Describe("The classes of a ClusterBinding", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("give a pod the provider's names; without its RuntimeClass it waits, and goes on by itself", func() {
		here, there := metav1.ObjectMeta{Name: unique("here")}, metav1.ObjectMeta{Name: unique("there")}
		for plane, named := range map[*controlPlane]metav1.ObjectMeta{home: here, eu: there} {
			plane.make(&nodev1.RuntimeClass{ObjectMeta: named, Handler: "sandbox"})
			plane.make(&schedulingv1.PriorityClass{ObjectMeta: named, Value: 7})
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
		classesReady := func() metav1.Condition {
			cb := &v1alpha1.ClusterBinding{}
			Expect(home.Get(ctx, client.ObjectKeyFromObject(t.cb), cb)).To(Succeed())
			return ptr.Deref(meta.FindStatusCondition(cb.Status.Conditions, v1alpha1.BindingClassesReady), metav1.Condition{})
		}
		Eventually(classesReady).Should(HaveField("Reason", v1alpha1.ReasonClassesThere))

		By("taking the class away in the provider, and giving it back")
		sandbox := &nodev1.RuntimeClass{ObjectMeta: there, Handler: "sandbox"}
		Expect(eu.Delete(ctx, sandbox)).To(Succeed())
		Eventually(classesReady).Should(And(HaveField("Reason", v1alpha1.ReasonClassMissing), HaveField("Message", ContainSubstring("no RuntimeClass "+there.Name+":"))))
		pod = t.run(func(pod *corev1.Pod) { pod.Spec.RuntimeClassName = &here.Name })
		t.staysHome(pod, v1alpha1.ReasonClassMissing, "spec.runtimeClassName", there.Name)
		Expect(eu.Get(ctx, client.ObjectKeyFromObject(remote), remote)).To(Succeed())
		Expect(remote.DeletionTimestamp).To(BeNil())
		Expect(eu.Create(ctx, &nodev1.RuntimeClass{ObjectMeta: there, Handler: "sandbox"})).To(Succeed())
		t.goesOn(pod)
		Eventually(classesReady).Should(HaveField("Reason", v1alpha1.ReasonClassesThere))
	})

	It("bring a Service's load balancer into the provider, and its address here, until the binding is gone", func() {
		before := eu.limits()
		DeferCleanup(func() {
			change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data })
		})
		class := unique("public")
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("shop")}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, Selector: map[string]string{"app": "shop"}, Ports: []corev1.ServicePort{{Port: 443}},
		}}
		home.make(service)
		t.tells(service, translate.ReasonSentAsClusterIP, "spec.classes")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassLoadBalancer, Name: class})
		})
		eu.limit("loadBalancerClasses", "default")
		remote := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: service.Name}}
		Eventually(now(eu, remote)).Should(HaveField("Spec.Type", corev1.ServiceTypeLoadBalancer))

		Expect(eu.Get(ctx, client.ObjectKeyFromObject(remote), remote)).To(Succeed())
		remote.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}, {IP: service.Spec.ClusterIP}, {Hostname: "shop.team.svc.cluster.local"}}
		Expect(eu.Status().Update(ctx, remote)).To(Succeed())
		Eventually(now(home, service)).Should(And(
			HaveField("Status.LoadBalancer.Ingress", ConsistOf(And(HaveField("IP", "203.0.113.10"), HaveField("IPMode", HaveValue(Equal(corev1.LoadBalancerIPModeProxy)))))),
			HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationAddressesPrefix+t.cb.Spec.ClusterID, "203.0.113.10"))))
		t.tells(service, translate.ReasonAddressRefused, "this cluster has that address")

		By("unbinding the provider, where everything stays")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		home.drop(t.cb)
		Eventually(home.fetching(t.cb)).Should(absent)
		Eventually(now(home, service)).Should(And(HaveField("Status.LoadBalancer.Ingress", BeEmpty()), HaveField("Annotations", BeEmpty())))
		Expect(now(eu, remote)()).To(HaveField("Spec.Type", corev1.ServiceTypeLoadBalancer))
		eu.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.remote}})
	})
})
