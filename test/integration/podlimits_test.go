package integration

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// offeredKey is the key of a taint that eu allows pods to tolerate.
const offeredKey = "example.com/added"

var _ = Describe("The limits of a provider", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	// Each spec starts with the original limits.
	BeforeEach(func() {
		before := eu.limits()
		DeferCleanup(func() {
			change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data })
		})
	})

	It("refuse a pod that describes a volume, for which nothing is sent, until they allow that", func() {
		secret := newSecret(t.namespace, unique("secret"), "1")
		home.make(secret)
		pod := t.run(withVolume(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/"}}), func(pod *corev1.Pod) {
			pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret.GetName()}}}}
		})
		t.staysHome(pod, field.ReasonVolumeNotAllowed, "spec.volumes[volume].nfs", "volumeTypes in ConfigMap spillway-provider/limits")
		copied := in(t.remote, secret)
		Expect(client.IgnoreNotFound(eu.fetching(copied)())).To(Succeed())
		Expect(copied.GetUID()).To(BeEmpty(), "no Secret should go for a pod that does not")

		eu.limit("volumeTypes", "nfs")
		t.goesOn(pod)
		Eventually(now(home, home.virtualNode(t.cb))).Should(HaveField("Labels", HaveKey(v1alpha1.LabelVolumePrefix+"nfs")), "the admission policy asks for it")
		Expect(eu.value(in(t.remote, secret))()).To(Equal("1"))

		eu.limit("volumeTypes", "")
		next := t.run(withVolume(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/"}}))
		t.staysHome(next, field.ReasonVolumeNotAllowed, "spec.volumes[volume].nfs")
		Expect(eu.value(in(t.remote, secret))()).To(Equal("1"), "what runs needs its Secret still")
	})

	It("leave out a toleration, which the pod says, until they offer it", func() {
		const key = "example.com/gpu"
		pod, remote := t.running(func(pod *corev1.Pod) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations,
				corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}, corev1.Toleration{Key: offeredKey, Operator: corev1.TolerationOpExists})
		})
		Expect(remote.Spec.Tolerations).To(ContainElement(HaveField("Key", offeredKey)))
		Expect(remote.Spec.Tolerations).NotTo(ContainElement(HaveField("Key", key)))
		Eventually(home.offloaded(pod)).Should(isTrue(v1alpha1.ReasonOffloaded, "the toleration of "+key, "tolerationKeys in ConfigMap spillway-provider/limits"))

		eu.limit("tolerationKeys", offeredKey+", "+key)
		Eventually(now(eu, remote)).Should(HaveField("Spec.Tolerations", ContainElement(HaveField("Key", key))))
		Eventually(home.offloaded(pod)).Should(HaveField("Message", BeEmpty()), "nothing is left out any more")
	})

	It("leave out labels and annotations, which the pod says, until they let them in", func() {
		const key = "sidecar.istio.io/inject"
		commands := map[string]string{key: "true", "example.com/mine": "1"}
		settings := newConfigMap(t.namespace, unique("settings"), "1")
		settings.SetAnnotations(commands)
		home.make(settings)
		pod, remote := t.running(withConfigMap(settings.GetName(), false), func(pod *corev1.Pod) { pod.Labels = maps.Clone(commands) })
		withheld := And(Not(HaveKey(key)), HaveKeyWithValue("example.com/mine", "1"))
		Expect(remote.Labels).To(withheld)
		Expect(now(eu, in(t.remote, settings))()).To(HaveField("ObjectMeta.Annotations", withheld))
		Eventually(home.offloaded(pod)).Should(isTrue(v1alpha1.ReasonOffloaded, "label "+key, "metadataKeys, reservedKeys in ConfigMap spillway-provider/limits"))

		eu.limit("metadataKeys", "example.com/, sidecar.istio.io/")
		Eventually(now(eu, remote)).Should(HaveField("Labels", HaveKeyWithValue(key, "true")))
		Eventually(now(eu, in(t.remote, settings))).Should(HaveField("ObjectMeta.Annotations", HaveKeyWithValue(key, "true")))
		Eventually(home.offloaded(pod)).Should(HaveField("Message", BeEmpty()), "nothing is left out any more")

		eu.limit("metadataKeys", "example.com/")
		change(home, settings, func(object client.Object) { setValue(object, "2") })
		Eventually(eu.value(in(t.remote, settings))).Should(Equal("2"), "what has such an annotation is still kept up to date")
		Expect(now(eu, in(t.remote, settings))()).To(HaveField("ObjectMeta.Annotations", HaveKeyWithValue(key, "true")), "it keeps what it has")
	})

	It("refuse a privileged pod, until they take such, in namespaces that are held to that", func() {
		privileged := func(pod *corev1.Pod) {
			pod.Spec.HostNetwork = true
			pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		}
		own := newTeam() // The others' namespaces stay unchanged.
		Eventually(home.condition(own.cb, v1alpha1.BindingLimitsKnown)).Should(isTrue(v1alpha1.ReasonLimitsRead, "the provider's profile is confined"))
		pod := own.run(privileged)
		own.staysHome(pod, field.ReasonPodSecurity, "spec.hostNetwork", "podSecurity: privileged in ConfigMap spillway-provider/limits")

		// A consumer does not change a remote namespace that exists: the administrator does.
		change(eu, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: own.remote}}, func(namespace *corev1.Namespace) {
			namespace.Labels["pod-security.kubernetes.io/enforce"] = "privileged"
		})
		eu.limit("podSecurity", "privileged")
		Expect(own.goesOn(pod).Spec).To(And(HaveField("HostNetwork", true), HaveField("Containers", ContainElement(HaveField("SecurityContext.Privileged", HaveValue(BeTrue()))))))
		Eventually(home.condition(own.cb, v1alpha1.BindingLimitsKnown)).Should(isTrue(v1alpha1.ReasonLimitsRead, "with all of podSecurity"))

		next := newTeam()
		next.running(privileged) // A new namespace gets the new standard.
		Expect(now(eu, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: next.remote}})()).To(HaveField("Labels", HaveKeyWithValue("pod-security.kubernetes.io/enforce", "privileged")))
	})

	It("are missing: pods wait and say so, and nobody else is held up", slow, func() {
		limits := eu.limits()
		Expect(eu.Delete(ctx, limits)).To(Succeed())
		DeferCleanup(func() { Expect(client.IgnoreAlreadyExists(eu.Create(ctx, newLimits(limits.Data)))).To(Succeed()) })
		Eventually(home.condition(t.cb, v1alpha1.BindingLimitsKnown)).Should(isFalse(v1alpha1.ReasonLimitsMissing, "no ConfigMap spillway-provider/limits"))
		Eventually(home.condition(t.cb, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonLimitsMissing))
		pod := t.run()
		t.staysHome(pod, v1alpha1.ReasonLimitsMissing, "ConfigMap spillway-provider/limits", "provider.yaml")
		foreign := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: unique("foreign")},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}}},
		}
		eu.takesPods(metav1.NamespaceDefault)
		Expect(eu.Create(ctx, foreign, client.DryRunAll)).To(Succeed())

		Expect(eu.Create(ctx, newLimits(limits.Data))).To(Succeed())
		t.goesOn(pod)
		Eventually(home.condition(t.cb, v1alpha1.BindingLimitsKnown)).Should(isTrue(v1alpha1.ReasonLimitsRead, "the provider's profile is confined"))
	})

	It("have a key that there is not: pods wait, and are told which", slow, func() {
		change(eu, eu.limits(), func(limits *corev1.ConfigMap) {
			limits.Data = maps.Clone(limits.Data)
			limits.Data["tolerations"] = "example.com/gpu"
		})
		pod := t.run()
		t.staysHome(pod, v1alpha1.ReasonLimitsInvalid, "the unknown key tolerations")
		Eventually(home.condition(t.cb, v1alpha1.BindingLimitsKnown)).Should(isFalse(v1alpha1.ReasonLimitsInvalid, "the unknown key tolerations"))
		refuses := ContainElement(corev1.Taint{Key: v1alpha1.TaintNoNewPods, Value: v1alpha1.ReasonLimitsInvalid, Effect: corev1.TaintEffectNoSchedule})
		Eventually(now(home, home.virtualNode(t.cb))).Should(HaveField("Spec.Taints", refuses), "other pods should go elsewhere")
		change(eu, eu.limits(), func(limits *corev1.ConfigMap) { delete(limits.Data, "tolerations") })
		t.goesOn(pod)
		Eventually(now(home, home.virtualNode(t.cb))).Should(HaveField("Spec.Taints", Not(refuses)))
	})
})

func newLimits(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: "limits"}, Data: data}
}

// limits reads the current limits of a provider.
func (c *controlPlane) limits() *corev1.ConfigMap {
	GinkgoHelper()
	limits := newLimits(nil)
	Expect(c.fetching(limits)()).To(Succeed())
	return limits
}

// limit changes one key of a provider's limits.
func (c *controlPlane) limit(key, value string) {
	GinkgoHelper()
	change(c, c.limits(), func(limits *corev1.ConfigMap) { limits.Data[key] = value })
}
