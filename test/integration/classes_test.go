package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/service"
	"github.com/spillway-io/spillway/internal/engine/address"
)

var _ = Describe("The classes of a ClusterBinding", Ordered, func() {
	var (
		t        team
		imported *nodev1.RuntimeClass
	)

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

	It("import classes, which go when nobody imports them any more", func() {
		there, name := metav1.ObjectMeta{Name: unique("there")}, unique("imported")
		eu.make(&networkingv1.IngressClass{ObjectMeta: there, Spec: networkingv1.IngressClassSpec{Controller: "example.com/ingress"}})
		eu.make(&nodev1.RuntimeClass{ObjectMeta: there, Handler: "sandbox", Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}}})
		eu.make(&schedulingv1.PriorityClass{ObjectMeta: there, Value: 5000})
		eu.make(&storagev1.StorageClass{ObjectMeta: there, Provisioner: "csi.example.com", AllowVolumeExpansion: ptr.To(true)})
		eu.make(&storagev1.VolumeAttributesClass{ObjectMeta: there, DriverName: "csi.example.com", Parameters: map[string]string{"iops": "100"}})
		taken := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: unique("taken")}, Value: 7}
		home.make(taken)
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			for _, kind := range []v1alpha1.ClassKind{v1alpha1.ClassIngress, v1alpha1.ClassRuntime, v1alpha1.ClassPriority, v1alpha1.ClassStorage, v1alpha1.ClassVolumeAttributes} {
				cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: kind, Name: name, RemoteName: there.Name, Import: true})
			}
			cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassPriority, Name: taken.Name, RemoteName: there.Name, Import: true})
		})
		named := metav1.ObjectMeta{Name: name}
		ingress, sandbox, priority := &networkingv1.IngressClass{ObjectMeta: named}, &nodev1.RuntimeClass{ObjectMeta: named}, &schedulingv1.PriorityClass{ObjectMeta: named}
		storage, attributes := &storagev1.StorageClass{ObjectMeta: named}, &storagev1.VolumeAttributesClass{ObjectMeta: named}
		Eventually(now(home, ingress)).Should(HaveField("Spec.Controller", v1alpha1.IngressController))
		Eventually(now(home, priority)).Should(And(HaveField("Value", BeEquivalentTo(1000)), HaveField("PreemptionPolicy", HaveValue(Equal(corev1.PreemptNever)))))
		Eventually(now(home, sandbox)).Should(HaveField("Overhead.PodFixed", HaveKey(corev1.ResourceCPU)))
		Eventually(now(home, storage)).Should(And(HaveField("Provisioner", v1alpha1.StorageDriver), HaveField("AllowVolumeExpansion", HaveValue(BeTrue())), HaveField("VolumeBindingMode", HaveValue(Equal(storagev1.VolumeBindingWaitForFirstConsumer)))))
		Eventually(now(home, attributes)).Should(HaveField("DriverName", v1alpha1.StorageDriver))
		Eventually(home.eventsAbout(t.cb)).Should(ContainElement(And(HaveField("Reason", "ClassTaken"), noting("PriorityClass "+taken.Name))))
		Expect(now(home, taken)()).To(HaveField("Value", BeEquivalentTo(7)))

		By("running a pod of such a class")
		const labelled = v1alpha1.LabelRuntimeClassPrefix
		Eventually(now(home, home.virtualNode(t.cb))).Should(HaveField("Labels", And(
			HaveKeyWithValue(labelled+name, v1alpha1.RuntimeClassMapped), HaveKeyWithValue(v1alpha1.LabelStorageClassPrefix+name, v1alpha1.StorageClassMapped))))
		pod := t.run(func(pod *corev1.Pod) { pod.Spec.RuntimeClassName = &name })
		Expect(pod.Spec.NodeSelector).To(HaveKey(labelled+name), "the API server keeps it off the consumer's own nodes")
		remote := eu.remotePod(t.cb, pod)
		Expect(remote.Spec.RuntimeClassName).To(HaveValue(Equal(there.Name)))
		Expect(remote.Spec.NodeSelector).To(BeEmpty())

		By("losing them in the provider")
		eu.drop(&schedulingv1.PriorityClass{ObjectMeta: there})
		Eventually(home.condition(t.cb, v1alpha1.BindingClassesReady)).Should(isFalse(v1alpha1.ReasonClassMissing, "PriorityClass "+there.Name))
		Expect(home.fetching(priority)()).To(Succeed())

		By("importing none, and another one for the rest of the binding's life")
		imported = &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: unique("last")}}
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassRuntime, Name: imported.Name, RemoteName: there.Name, Import: true}}
		})
		for _, gone := range []client.Object{ingress, sandbox, priority, storage, attributes} {
			Eventually(home.fetching(gone)).Should(absent)
		}
		Eventually(home.fetching(imported)).Should(Succeed())
	})

	It("bring a Service's load balancer into the provider, and its address here, until the binding is gone", func() {
		before := eu.limits()
		DeferCleanup(func() {
			change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data })
		})
		class := unique("public")
		created := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("shop")}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, Selector: map[string]string{"app": "shop"}, Ports: []corev1.ServicePort{{Port: 443}},
		}}
		home.make(created)
		t.tells(created, service.ReasonSentAsClusterIP, "spec.classes")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassLoadBalancer, Name: class})
		})
		eu.limit("loadBalancerClasses", "default")
		remote := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: created.Name}}
		Eventually(now(eu, remote)).Should(HaveField("Spec.Type", corev1.ServiceTypeLoadBalancer))

		Expect(eu.Get(ctx, client.ObjectKeyFromObject(remote), remote)).To(Succeed())
		remote.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}, {IP: created.Spec.ClusterIP}, {Hostname: "shop.team.svc.cluster.local"}}
		Expect(eu.Status().Update(ctx, remote)).To(Succeed())
		Eventually(now(home, created)).Should(And(
			HaveField("Status.LoadBalancer.Ingress", ConsistOf(And(HaveField("IP", "203.0.113.10"), HaveField("IPMode", HaveValue(Equal(corev1.LoadBalancerIPModeProxy)))))),
			HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationAddressesPrefix+t.cb.Spec.ClusterID, "203.0.113.10"))))
		t.tells(created, address.ReasonAddressRefused, "this cluster uses that address")

		By("unbinding the provider, where everything stays")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		home.drop(t.cb)
		Eventually(home.fetching(t.cb)).Should(absent)
		Eventually(now(home, created)).Should(And(HaveField("Status.LoadBalancer.Ingress", BeEmpty()), HaveField("Annotations", BeEmpty())))
		Expect(now(eu, remote)()).To(HaveField("Spec.Type", corev1.ServiceTypeLoadBalancer))
		Expect(home.fetching(imported)()).To(MatchError(apierrors.IsNotFound, "no binding imports it any more"))
		eu.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.remote}})
	})
})
